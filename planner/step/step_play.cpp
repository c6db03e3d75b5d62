// SPDX-License-Identifier: Apache-2.0
#include "planner/step/step_play.hpp"

namespace foretrain {

std::int64_t step_passes(const Report& report) {
  if (!report.prediction.step) return 0;
  const Job& job = report.scenario.job;
  return std::int64_t{2} * job.parallel.pipeline * job.parallel.virtual_stages * job.microbatches();
}

std::optional<StepPath> play_step(const Report& report, Detail detail) {
  if (!report.prediction.step) return std::nullopt;
  const Job& job = report.scenario.job;
  return step_path(job, stage_layout(job.model, job.parallel), detail);
}

}  // namespace foretrain
