// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/budget.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "planner/answer/quantity.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

/// Reads a limit with a unit. What is wrong with it; empty: nothing.
std::string read_limit(Measure measure, const std::string& text, std::optional<double>& limit) {
  if (text.empty()) return {};
  const Parsed<double> parsed = parse_quantity(text, dimension_of(measure));
  limit = parsed.value;
  return parsed.error;
}

/// The number that a line of the budget limits; nothing where the forecast has no such number.
std::optional<QuantityAt> known_number(const std::string& metric, const Prediction& prediction) {
  const auto found = quantities().find(metric);
  const bool limits = found && found->quantity->is_number() && !metric.starts_with("provenance.") &&
                      (found->index == 0 || found->index < elements(*found->quantity, prediction));
  return limits ? found : std::nullopt;
}

BudgetVerdict judge(const BudgetLine& line, const std::optional<double>& value) {
  BudgetVerdict verdict{line, value, false};
  if (!value) return verdict;
  verdict.pass =
      (!line.max || *verdict.value <= *line.max) && (!line.min || *verdict.value >= *line.min);
  return verdict;
}

}  // namespace

std::vector<BudgetVerdict> judge_budget(const Report& report) {
  std::vector<BudgetVerdict> verdicts;
  std::vector<Diagnostic> wrong;
  for (BudgetLine line : report.scenario.job.budget) {
    if (const auto metric = known_number(line.metric, report.prediction)) {
      for (const auto& [key, problem] :
           {std::pair{"budget[].max",
                      read_limit(metric->quantity->measure, line.max_text, line.max)},
            std::pair{"budget[].min",
                      read_limit(metric->quantity->measure, line.min_text, line.min)}})
        if (!problem.empty())
          wrong.push_back({report.scenario.path, line.line, line.line > 0 ? 1 : 0, key, problem});
      verdicts.push_back(judge(line, metric->number(report.prediction)));
      continue;
    }
    wrong.push_back({report.scenario.path, line.line, line.line > 0 ? 1 : 0, "budget[].metric",
                     in_quotes(line.metric) +
                         " is not a number of the forecast (foretrain explain SCENARIO " +
                         "lists them)" + nearest_hint(line.metric, quantities().number_paths())});
  }
  if (!wrong.empty()) throw ScenarioError(std::move(wrong));
  return verdicts;
}

bool within_budget(const std::vector<BudgetVerdict>& verdicts) {
  return std::all_of(verdicts.begin(), verdicts.end(),
                     [](const BudgetVerdict& verdict) { return verdict.pass; });
}

}  // namespace foretrain
