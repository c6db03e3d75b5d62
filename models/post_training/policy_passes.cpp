// SPDX-License-Identifier: Apache-2.0
#include "models/post_training/policy_passes.hpp"

#include <algorithm>
#include <cmath>

#include "models/grid/stage_layout.hpp"
#include "models/layers/row_statistics.hpp"
#include "models/post_training/token_lengths.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {
namespace {

int whole_rows(const Job& job, double rows) {
  const double each = 1.0 * job.training.micro_batch * job.parallel.data;
  auto microbatches = static_cast<int>(std::ceil(rows / each - 1e-9));
  microbatches = std::max(1, microbatches);
  // Interleaved schedules take micro-batches in groups as large as the pipeline.
  if (job.parallel.virtual_stages > 1) {
    const int group = job.parallel.pipeline;
    microbatches = (microbatches + group - 1) / group * group;
  }
  return microbatches * job.training.micro_batch * job.parallel.data;
}

/// Each stage's forward pass of one micro-batch.
Seconds forward_of(const StepCosts& costs, int stage) {
  Seconds sum;
  for (int chunk = 0; chunk < costs.shape.chunks; ++chunk)
    sum += costs.at({stage, chunk}).forward.total();
  return sum;
}

}  // namespace

Job policy_job(const Job& actor, const PostTrainingPlan& plan) {
  Job job = actor;
  job.fine_tuning.objective = Objective::policy;
  // Published loops leave prediction modules out: their logits are of no answer.
  job.model.mtp_layers = 0;
  const double prompt = TokenLengths{plan.prompt}.deviation();
  const double answer = TokenLengths{plan.answer}.deviation();
  job.training.samples.mean = plan.prompt.mean + plan.answer.mean;
  job.training.samples.deviation = std::hypot(prompt, answer);
  job.training.samples.lengths.clear();
  double rows = actor.training.global_batch;
  if (job.training.samples.layout == SampleLayout::packed)
    rows *= std::min<double>(job.training.samples.mean, job.training.sequence) /
            row_statistics(job).tokens;
  job.training.global_batch = whole_rows(job, rows);
  return job;
}

int policy_updates(const Job& actor, const PostTrainingPlan& plan) {
  const double each = std::max(1, actor.training.global_batch);
  return plan.epochs * std::max(1, static_cast<int>(std::ceil(plan.samples() / each - 1e-9)));
}

Seconds scoring_time(const Job& job, int updates_per_epoch) {
  const StepCosts costs = step_costs(job, stage_layout(job.model, job.parallel));
  Seconds slowest;
  Seconds through;
  const int stages = costs.shape.stages;
  for (int stage = 0; stage < stages; ++stage) {
    const Seconds forward = forward_of(costs, stage);
    slowest = max(slowest, forward);
    through += forward + (stage + 1 < stages ? costs.hop(stage, stage + 1) : Seconds{});
  }
  const double microbatches = 1.0 * updates_per_epoch * job.microbatches();
  return (through + (microbatches - 1.0) * slowest) * ((1.0 + costs.jitter) * costs.release);
}

}  // namespace foretrain
