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

/// A number that a line of the budget limits.
struct KnownNumber {
  Measure measure = Measure::count;
  std::optional<double> value{};
};

/// Nothing where the forecast has no such number.
std::optional<KnownNumber> known_number(const std::string& metric, const Report& report) {
  if (report.study) {
    const StudyFigure* figure = find_figure(report.study->figures, metric);
    if (figure == nullptr || figure->path != metric) return std::nullopt;
    return KnownNumber{measure_of(metric), figure->value};
  }
  const Prediction& prediction = report.prediction;
  const auto found = quantities().find(metric);
  const bool limits = found && found->quantity->is_number() && !metric.starts_with("provenance.") &&
                      (found->index == 0 ||
                       found->index < quantities().table().elements(*found->quantity, &prediction));
  if (!limits) return std::nullopt;
  return KnownNumber{found->quantity->measure, found->number(prediction)};
}

std::vector<std::string> known_paths(const Report& report) {
  if (!report.study) return quantities().number_paths();
  std::vector<std::string> paths;
  for (const StudyFigure& figure : report.study->figures) paths.push_back(figure.path);
  return paths;
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
    if (const auto metric = known_number(line.metric, report)) {
      for (const auto& [key, problem] :
           {std::pair{"budget[].max", read_limit(metric->measure, line.max_text, line.max)},
            std::pair{"budget[].min", read_limit(metric->measure, line.min_text, line.min)}})
        if (!problem.empty())
          wrong.push_back({report.scenario.path, line.line, line.line > 0 ? 1 : 0, key, problem});
      verdicts.push_back(judge(line, metric->value));
      continue;
    }
    wrong.push_back({report.scenario.path, line.line, line.line > 0 ? 1 : 0, "budget[].metric",
                     in_quotes(line.metric) +
                         " is not a number of the forecast (foretrain explain SCENARIO " +
                         "lists them)" + nearest_hint(line.metric, known_paths(report))});
  }
  if (!wrong.empty()) throw ScenarioError(std::move(wrong));
  return verdicts;
}

bool within_budget(const std::vector<BudgetVerdict>& verdicts) {
  return std::ranges::all_of(verdicts, [](const BudgetVerdict& verdict) { return verdict.pass; });
}

}  // namespace foretrain
