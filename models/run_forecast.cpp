// SPDX-License-Identifier: Apache-2.0
#include "models/run_forecast.hpp"

#include <algorithm>
#include <cmath>

#include "models/memory.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace {

/// What stops training at each checkpoint; absent when the scenario does not say.
std::optional<Seconds> checkpoint_stall(const Operations& operations, Bytes checkpoint) {
  if (operations.checkpoint_mode == CheckpointMode::async) return Seconds{};
  if (!operations.checkpoint_write_bandwidth) return std::nullopt;
  return checkpoint / *operations.checkpoint_write_bandwidth;
}

std::string missing_for_goodput(const Operations& operations, bool stall_known) {
  std::string missing;
  const auto name = [&missing](bool known, const char* key) {
    if (known) return;
    missing += missing.empty() ? "" : ", ";
    missing += key;
  };
  name(operations.mean_time_between_interruptions.has_value(),
       "operations.mean_time_between_interruptions");
  name(operations.restart.has_value(), "operations.restart");
  name(operations.checkpoint_every.has_value(), "operations.checkpoint.every");
  name(stall_known, "operations.checkpoint.write_bandwidth");
  return missing;
}

void expect(const Job& job, RunForecast& run, std::vector<Warning>& warnings) {
  const Operations& operations = job.operations;
  const std::optional<Seconds> stall = checkpoint_stall(operations, run.checkpoint);
  const std::string missing = missing_for_goodput(operations, stall.has_value());
  if (!missing.empty()) {
    if (operations.mean_time_between_interruptions || operations.checkpoint_every)
      warnings.push_back(
          {"goodput-unknown", "the expected duration is unknown without " + missing});
    return;
  }
  run.goodput = goodput({*operations.mean_time_between_interruptions, *operations.restart,
                         *operations.checkpoint_every, *stall});
  if (*run.goodput > 0.0)
    run.expected = *run.ideal / *run.goodput;
  else
    warnings.push_back({"no-progress",
                        "with these interruptions and checkpoints the run never finishes: each "
                        "interruption loses more than the time between two"});
  if (operations.checkpoint_mode == CheckpointMode::async &&
      operations.checkpoint_write_bandwidth &&
      run.checkpoint / *operations.checkpoint_write_bandwidth > *operations.checkpoint_every)
    warnings.push_back({"checkpoint-too-slow",
                        "a checkpoint takes longer to write than the interval between two"});
}

}  // namespace

double goodput(const Interruptions& interruptions) {
  FORETRAIN_REQUIRE(interruptions.between > Seconds{} && interruptions.every > Seconds{});
  const double lost = (interruptions.restart + interruptions.every / 2.0) / interruptions.between;
  return std::max(0.0, 1.0 - lost) / (1.0 + interruptions.stall / interruptions.every);
}

RunForecast forecast_run(const Job& job, Seconds step, std::vector<Warning>& warnings) {
  RunForecast run;
  run.checkpoint = checkpoint_size(job);
  run.tokens = job.training.tokens;
  if (!run.tokens) return run;
  const double per_step = static_cast<double>(job.training.global_batch) * job.training.sequence;
  run.steps = std::ceil(*run.tokens / per_step);
  run.ideal = step * *run.steps;
  expect(job, run, warnings);
  return run;
}

CostForecast forecast_cost(const Job& job, const RunForecast& run) {
  CostForecast cost;
  const std::optional<Seconds> duration = run.expected ? run.expected : run.ideal;
  if (!duration) return cost;
  const Seconds gpu_time = *duration * static_cast<double>(job.cluster.gpus());
  cost.gpu_hours = gpu_time / hours;
  if (job.operations.price_per_gpu) cost.price = gpu_time * *job.operations.price_per_gpu;
  return cost;
}

}  // namespace foretrain
