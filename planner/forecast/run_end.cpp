// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/run_end.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

#include "planner/text/format.hpp"

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

}  // namespace foretrain
