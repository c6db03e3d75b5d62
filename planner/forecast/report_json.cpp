// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_json.hpp"

#include "planner/forecast/internal/prediction_tree.hpp"

namespace foretrain {

std::string report_json(const Report& report) { return dump(prediction_tree(report)); }

}  // namespace foretrain
