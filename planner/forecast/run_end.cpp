// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/run_end.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <string>
#include <utility>

#include "planner/answer/quantity.hpp"
#include "planner/text/format.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr const char* bound_id = "deadline-without-interruptions";

void forget(const char* rule, Prediction& prediction) {
  std::erase_if(prediction.reasons, [&](const Infeasible& reason) { return reason.rule == rule; });
}

std::string every_text(const RunForecast& run) {
  return run.between ? " (one every " + duration_text(*run.between) + ")" : std::string();
}

Infeasible never_finishes_reason(const RunForecast& run) {
  return {never_finishes_rule, "operations",
          fmt::format("the run never finishes: each interruption{} costs more time than passes "
                      "until the next",
                      every_text(run)),
          "checkpoint more often, restart faster, or use fewer or more reliable hosts"};
}

Infeasible deadline_reason(const Prediction& prediction, Seconds deadline) {
  const RunForecast& run = prediction.run;
  std::string range;
  if (run.p10 && run.p90)
    range = fmt::format(" ({} to {})", duration_text(*run.p10), duration_text(*run.p90));
  return {
      deadline_rule, "operations.deadline",
      fmt::format("the run takes {}{}{}, the deadline is {}: it is met with a probability of {}",
                  duration_text(*run_duration(prediction)), range,
                  run.expected ? "" : " even without interruptions", duration_text(deadline),
                  percent_text(*run.meets_deadline)),
      "a faster plan or more GPUs (plan --deadline, solve gpus --deadline)"};
}

/// Without simulated runs the step's band decides; what interruptions add is then unknown, unless
/// they are part of the duration.
void estimate_chance(Seconds duration, Seconds deadline, Prediction& prediction) {
  if (prediction.run.meets_deadline || !prediction.step) return;
  prediction.run.meets_deadline = chance_in_time(duration, *prediction.step, deadline);
  if (!prediction.run.expected)
    prediction.warnings.push_back(
        {bound_id, "chance to meet the deadline: at most this, since interruptions are unknown"});
}

}  // namespace

bool never_finishes(const RunForecast& run) { return run.goodput && !run.expected; }

std::optional<Seconds> run_duration(const Prediction& prediction) {
  const RunForecast& run = prediction.run;
  if (run.expected) return run.expected;
  return never_finishes(run) ? std::nullopt : run.ideal;
}

double chance_in_time(Seconds duration, const StepForecast& step, Seconds deadline) {
  return chance_below({step.low / step.time, 1.0, step.high / step.time}, deadline / duration);
}

void judge_run_end(const Job& job, Prediction& prediction) {
  forget(never_finishes_rule, prediction);
  forget(deadline_rule, prediction);
  RunForecast& run = prediction.run;
  const auto& deadline = job.operations.deadline;
  if (never_finishes(run)) {
    prediction.reasons.push_back(never_finishes_reason(run));
    if (deadline) run.meets_deadline = 0.0;
    return;
  }
  const auto duration = run_duration(prediction);
  if (!deadline || !duration) return;
  estimate_chance(*duration, *deadline, prediction);
  if (deadline_verdict(prediction) == Verdict::no)
    prediction.reasons.push_back(deadline_reason(prediction, *deadline));
}

std::string deadline_sentence(const RunForecast& run) {
  if (!run.meets_deadline) return {};
  const bool counted = run.expected || never_finishes(run);
  return fmt::format("The deadline is met with a probability of {}{}.",
                     percent_text(*run.meets_deadline),
                     counted ? "" : ", interruptions not counted");
}

std::optional<Verdict> deadline_verdict(const Prediction& prediction) {
  const auto& chance = prediction.run.meets_deadline;
  return chance ? std::optional(of_chance(*chance)) : std::nullopt;
}

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
