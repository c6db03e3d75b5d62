// SPDX-License-Identifier: Apache-2.0
#include "models/run/run_forecast.hpp"

#include <fmt/format.h>

#include <cmath>

#include "models/rules/plan_rules.hpp"
#include "models/run/goodput.hpp"
#include "models/run/run_model.hpp"

namespace foretrain {
namespace {

/// Below this share of progress a run counts as one that never ends.
constexpr double no_progress = 1e-3;
/// What break-even is told for: the effective training time that large runs report.
constexpr double wanted_goodput = 0.9;

/// Whether the user said anything about interruptions or how they are survived.
bool wants_goodput(const Operations& operations) {
  return operations.mean_time_between_interruptions || operations.interruptions.gives_rate() ||
         operations.checkpoint_every || operations.checkpoint.optimal ||
         operations.checkpoint.every_steps || operations.restart || operations.recovery.detection;
}

std::string duration(Seconds time) {
  if (time >= 2.0 * hours) return fmt::format("{:.1f} h", time.in(hours));
  if (time >= 2.0 * minutes) return fmt::format("{:.0f} min", time.in(minutes));
  return fmt::format("{:.0f} s", time.value());
}

/// All but planned stops and waiting. The sum begins as RunSplit::total() does, so that no rounding
/// makes it longer than that, or shorter than the steps.
Seconds time_with_hosts(const RunSplit& split) {
  return split.steps + split.evaluation + split.checkpoints + split.slow + split.lost +
         split.detection + split.restart;
}

/// What one side of the question allows the other to be.
void tell_break_even(const Job& job, std::optional<Seconds> between,
                     std::vector<Warning>& warnings) {
  const Operations& operations = job.operations;
  std::string message;
  if (between && *between > Seconds{}) {
    message = fmt::format(
        "with an interruption every {}, {:.0f} % of the time is productive as long as "
        "one costs less than {} altogether (lost work, detection, restart)",
        duration(*between), 100.0 * wanted_goodput,
        duration(affordable_interruption(*between, wanted_goodput)));
  } else if (!between && operations.restart && operations.checkpoint_every) {
    const Seconds cost = *operations.restart + *operations.checkpoint_every / 2.0;
    message = fmt::format(
        "an interruption costs about {}: {:.0f} % of the time is productive as long as "
        "they are further apart than {}",
        duration(cost), 100.0 * wanted_goodput, duration(cost / (1.0 - wanted_goodput)));
  }
  if (!message.empty()) warnings.push_back({"goodput-break-even", message});
}

void expect(const Job& job, const StepForecast& step, RunForecast& run,
            std::vector<Warning>& warnings) {
  std::vector<Warning> notes;
  const RunInputs inputs = run_model(job, step, *run.ideal, notes);
  std::vector<Warning> ignored;
  run.between = time_between_interruptions(job, ignored);
  if (!inputs.model) {
    if (!wants_goodput(job.operations)) return;
    warnings.push_back(
        {"goodput-unknown", fmt::format("the expected duration is unknown without {}",
                                        fmt::join(inputs.missing, ", "))});
    tell_break_even(job, run.between, warnings);
    return;
  }
  warnings.insert(warnings.end(), notes.begin(), notes.end());
  const RunModel& model = *inputs.model;
  const RunSplit split = expect_run(model);
  const Seconds total = split.total();
  run.checkpoint_every = model.every;
  run.checkpoint_stall = model.stall;
  run.goodput = is_finite(total) ? *run.ideal / total : 0.0;
  if (*run.goodput < no_progress) return;
  run.expected = total;
  run.split = split;
  run.interruptions = expected_interruptions(model, split);
  const Seconds there = time_with_hosts(split);
  run.scheduling = there / total;
  run.runtime = split.steps / there;
}

/// Phases of the ramp that this plan cannot run.
std::vector<std::string> ramp_problems(const Job& job) {
  std::vector<std::string> problems = broken_ramp(job);
  if (!problems.empty()) return problems;
  for (const BatchPhase& phase : job.operations.batch_ramp) {
    Job smaller = job;
    smaller.training.global_batch = phase.global_batch;
    for (const Infeasible& broken : broken_rules(smaller))
      problems.push_back(
          fmt::format("with global_batch {}, {}", phase.global_batch, broken.message));
  }
  return problems;
}

}  // namespace

RunForecast forecast_run(const Job& job, const StepForecast& step, std::vector<Warning>& warnings) {
  RunForecast run;
  const CheckpointTimes checkpoint = checkpoint_times(job);
  run.checkpoint = checkpoint.size;
  run.checkpoint_write = checkpoint.write;
  run.checkpoint_read = checkpoint.read;
  run.tokens = job.training.tokens;
  if (!run.tokens) return run;
  const std::vector<std::string> problems = ramp_problems(job);
  for (const std::string& problem : problems)
    warnings.push_back({"batch-ramp", "operations.batch_ramp: " + problem});
  if (!problems.empty()) return run;
  const StepCount count = count_steps(job, step);
  run.steps = count.steps;
  run.ideal = count.ideal;
  expect(job, step, run, warnings);
  return run;
}

}  // namespace foretrain
