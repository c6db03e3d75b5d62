// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "planner/answer/quantity.hpp"
#include "planner/forecast/report.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

/// The value behind report_json(): what explanations and the CSV address by path. A plan that does
/// not fit into memory shows what its step would take, beside feasible: false and a warning.
[[nodiscard]] Json prediction_tree(const Report& report, const Quantities& table = quantities());

/// The same with null for what the step of a plan that does not fit would be: what budgets,
/// baselines and comparisons read.
[[nodiscard]] Json known_tree(const Report& report);
/// The resolved scenario, its dotted paths nested; a name that also has parts becomes
/// {"name": ..., parts...}.
[[nodiscard]] Json scenario_tree(const Scenario& scenario);
/// One top-level key of prediction_tree(), "step"; nothing for keys that do not come from the
/// prediction alone.
[[nodiscard]] std::optional<Json> prediction_section(const Prediction& prediction,
                                                     std::string_view name);

}  // namespace foretrain
