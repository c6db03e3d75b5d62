// SPDX-License-Identifier: Apache-2.0
#include "calibration/diagnosis/expected_run.hpp"

#include <algorithm>

#include "calibration/cases/step_case.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/step/data_loading.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

/// Of the stages, what the passes of one kind take in a step.
template <class Part>
ExpectedSection over_stages(const StepCosts& costs, const Part& part) {
  ExpectedSection section;
  for (int stage = 0; stage < costs.shape.stages; ++stage) {
    Seconds sum;
    for (int chunk = 0; chunk < costs.shape.chunks; ++chunk) sum += part(costs.at({stage, chunk}));
    const double seconds = costs.microbatches_per_chunk() * costs.release * sum.value();
    section.least = stage == 0 ? seconds : std::min(section.least, seconds);
    section.most = std::max(section.most, seconds);
  }
  return section;
}

ExpectedSection alike(Seconds time) { return {time.value(), time.value()}; }

}  // namespace

ExpectedRun expected_run(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts costs = step_costs(job, layout);
  StepForecast step = step_time(costs);
  std::vector<Warning> unused;
  add_input(job, step, unused);
  ExpectedRun run;
  run.step = step.time.value();
  run.breakdown = step.breakdown;
  const ExpectedSection forward =
      over_stages(costs, [](const PieceTimes& piece) { return piece.forward.total(); });
  const ExpectedSection backward =
      over_stages(costs, [](const PieceTimes& piece) { return piece.backward().total(); });
  run.sections[LogSection::forward] = forward;
  run.sections[LogSection::backward] = backward;
  const TimeBreakdown& parts = step.breakdown;
  run.sections[LogSection::gradients] = alike(parts.data);
  run.sections[LogSection::optimizer] = alike(parts.optimizer);
  run.sections[LogSection::input] = alike(parts.input);
  const double passes = (step.time - parts.data - parts.optimizer - parts.input).value();
  run.sections[LogSection::passes] = {passes, passes};
  run.sections[LogSection::waiting] = {std::max(0.0, passes - forward.most - backward.most),
                                       std::max(0.0, passes - forward.least - backward.least)};
  const MemoryForecast memory = forecast_memory(job, layout);
  run.usable = memory.usable.value();
  for (const StageMemory& stage : memory.stages) {
    run.allocated = std::max(run.allocated, stage.counted.value());
    if (stage.reserved.value() <= run.reserved) continue;
    run.reserved = stage.reserved.value();
    run.outside = (stage.peak - stage.reserved).value();
  }
  return run;
}

bool has_newer_attention(const Job& job) {
  const AttentionProfile& attention = job.device_profile.attention;
  return job.memory.attention == AttentionKind::flash &&
         job.attention_library() != AttentionLibrary::flash2 &&
         attention.flash2_rate.value() > 0.0 && attention.flash2_rate < attention.rate;
}

StepForecast expected_band(const Job& job) {
  StepForecast step = predict_step(job);
  std::vector<Warning> unused;
  add_input(job, step, unused);
  return step;
}

}  // namespace foretrain
