// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/answer/quantity.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/forecast/report.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

/// One header row and one row per forecast, RFC 4180 (CRLF line ends, quotes where needed); unknown
/// values are empty. Columns keep their names; new numbers come at their place in the JSON.
[[nodiscard]] std::string report_csv(const std::vector<Report>& reports,
                                     const Quantities& table = quantities());

/// A forecast beside the scenario that it is of, as its JSON has both.
struct Forecasted {
  const Scenario* scenario = nullptr;
  Prediction prediction;
};
/// Schema prediction/1, from the rows of `table`, which must outlive it.
[[nodiscard]] ValueTable<Forecasted> report_values(const Quantities& table = quantities());

/// Deterministic, two-space indented.
[[nodiscard]] std::string report_json(const Report& report);
/// The value behind report_json(): what explanations and the CSV address by path. A plan that does
/// not fit into memory shows what its step would take, beside feasible: false and a warning.
[[nodiscard]] Json prediction_tree(const Report& report, const Quantities& table = quantities());
/// The same with null for what the step of a plan that does not fit would be: what budgets,
/// baselines and comparisons read.
[[nodiscard]] Json known_tree(const Report& report);
/// The resolved scenario, its dotted paths nested; a name that also has parts becomes
/// {"name": ..., parts...}.
[[nodiscard]] Value scenario_value(const Scenario& scenario);

}  // namespace foretrain
