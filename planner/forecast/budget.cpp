// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/budget.hpp"

#include <algorithm>
#include <string>

#include "planner/forecast/internal/prediction_tree.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"

namespace foretrain {
namespace {

/// All numeric paths of a forecast in which nothing is missing.
std::vector<std::string> metrics_of(const Json& tree) {
  Report full;
  full.prediction.memory = MemoryForecast{};
  full.prediction.step = StepForecast{};
  full.prediction.flops = FlopsForecast{};
  full.prediction.memory->stages.emplace_back();
  std::vector<std::string> result;
  const auto add = [&](const Json& source) {
    for (const std::string& path : leaf_paths(source)) {
      const Json* value = find_path(source, path);
      if (path.starts_with("scenario.") || path.starts_with("warnings.") ||
          path.starts_with("reasons.") || (!value->is_number() && !value->is_null()))
        continue;
      if (std::find(result.begin(), result.end(), path) == result.end()) result.push_back(path);
    }
  };
  add(tree);
  add(prediction_tree(full));
  std::erase_if(result, [](const std::string& path) {
    return path == "memory" || path == "step" || path == "flops";
  });
  return result;
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
  for (const BudgetLine& line : report.scenario.job.budget) {
    const Json* value = find_path(tree, line.metric);
    if (known.empty()) known = metrics_of(tree);
    const bool exists = std::find(known.begin(), known.end(), line.metric) != known.end();
    if (exists) {
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
