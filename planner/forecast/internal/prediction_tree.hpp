// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/forecast/report.hpp"

namespace foretrain {

using Json = nlohmann::ordered_json;

/// The value behind report_json(): what explanations and the CSV address by path. A plan that does
/// not fit into memory shows what its step would take, beside feasible: false and a warning.
[[nodiscard]] Json prediction_tree(const Report& report);

/// The same with null for what the step of a plan that does not fit would be: what budgets,
/// baselines and comparisons read.
[[nodiscard]] Json known_tree(const Report& report);
/// The resolved scenario, its dotted paths nested; a name that also has parts becomes
/// {"name": ..., parts...}.
[[nodiscard]] Json scenario_tree(const Scenario& scenario);
/// The keys of the breakdown with their times, in the order of the JSON.
[[nodiscard]] std::vector<std::pair<std::string_view, Seconds>> breakdown_parts(
    const TimeBreakdown& breakdown);
/// The rows of where a run's time goes, by JSON name.
[[nodiscard]] std::vector<std::pair<std::string_view, Seconds>> run_parts(const RunSplit& split);
/// The eight categories of a stage with their sizes, in the order of the JSON.
[[nodiscard]] std::vector<std::pair<std::string_view, Bytes>> memory_parts(
    const StageMemory& stage);

/// Follows a dotted path; list elements by number: "memory.stages.0.peak_bytes". Null pointer when
/// nothing is there.
[[nodiscard]] const Json* find_path(const Json& tree, std::string_view path);
/// Every path that ends in a value (null included), in document order.
[[nodiscard]] std::vector<std::string> leaf_paths(const Json& tree);
/// The paths of all numbers of a forecast: those of `tree`, and those of one in which nothing is
/// missing. The one table of budgets and of metrics of a sweep.
[[nodiscard]] std::vector<std::string> number_paths(const Json& tree = Json::object());
/// Two-space indentation and a final line feed; text that is not UTF-8 is mended, never thrown at.
[[nodiscard]] std::string dump(const Json& tree);
/// Whole numbers below 2^53 without a fraction, others shortest; null when absent or not finite.
[[nodiscard]] Json number_or_null(std::optional<double> value);

}  // namespace foretrain
