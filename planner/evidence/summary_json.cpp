// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/internal/summary_json.hpp"

namespace foretrain {

Json summary_json(const CheckSummary& line) {
  return {{"source", line.source}, {"group", line.group.empty() ? Json(nullptr) : Json(line.group)},
          {"count", line.count},   {"bias", line.bias},
          {"mape", line.mape},     {"median", line.median},
          {"p90", line.p90},       {"in_band", line.covered}};
}

}  // namespace foretrain
