// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/budget.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/forecast/internal/prediction_tree.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// What a metric measures, by its name's unit; one per second is a count of those.
Dimension dimension_of(const std::string& metric) {
  if (metric.find("_per_") != std::string::npos) return Dimension::count;
  if (metric.ends_with("_s")) return Dimension::time;
  if (metric.ends_with("_bytes")) return Dimension::bytes;
  if (metric.ends_with("usd")) return Dimension::money;
  if (metric.ends_with("_w")) return Dimension::power;
  return Dimension::count;
}

/// Reads a limit with a unit. What is wrong with it; empty: nothing.
std::string read_limit(const std::string& metric, const std::string& text,
                       std::optional<double>& limit) {
  if (text.empty()) return {};
  const Parsed<double> parsed = parse_quantity(text, dimension_of(metric));
  limit = parsed.value;
  return parsed.error;
}

BudgetVerdict judge(const BudgetLine& line, const Json* value) {
  BudgetVerdict verdict{line, std::nullopt, false};
  if (value == nullptr || !value->is_number()) return verdict;
  verdict.value = value->get<double>();
  verdict.pass =
      (!line.max || *verdict.value <= *line.max) && (!line.min || *verdict.value >= *line.min);
  return verdict;
}

}  // namespace

std::vector<BudgetVerdict> judge_budget(const Report& report) {
  const Json tree = known_tree(report);
  std::vector<BudgetVerdict> verdicts;
  std::vector<Diagnostic> wrong;
  std::vector<std::string> known;
  for (BudgetLine line : report.scenario.job.budget) {
    const Json* value = find_path(tree, line.metric);
    if (known.empty()) known = number_paths(tree);
    const bool exists = std::find(known.begin(), known.end(), line.metric) != known.end();
    if (exists) {
      for (const auto& [key, problem] :
           {std::pair{"budget[].max", read_limit(line.metric, line.max_text, line.max)},
            std::pair{"budget[].min", read_limit(line.metric, line.min_text, line.min)}})
        if (!problem.empty())
          wrong.push_back({report.scenario.path, line.line, line.line > 0 ? 1 : 0, key, problem});
      verdicts.push_back(judge(line, value));
      continue;
    }
    wrong.push_back({report.scenario.path, line.line, line.line > 0 ? 1 : 0, "budget[].metric",
                     in_quotes(line.metric) +
                         " is not a number of the forecast (foretrain explain SCENARIO " +
                         "lists them)" + nearest_hint(line.metric, known)});
  }
  if (!wrong.empty()) throw ScenarioError(std::move(wrong));
  return verdicts;
}

bool within_budget(const std::vector<BudgetVerdict>& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const BudgetVerdict& verdict) { return verdict.pass; });
}

}  // namespace foretrain
