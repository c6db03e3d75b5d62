// SPDX-License-Identifier: Apache-2.0
#include "planner/report_json.hpp"

#include "planner/internal/prediction_tree.hpp"

namespace foretrain {

std::string report_json(const Report& report) { return dump(prediction_tree(report)); }

}  // namespace foretrain
