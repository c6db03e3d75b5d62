// SPDX-License-Identifier: Apache-2.0
#include "models/step_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/collective_cost.hpp"
#include "models/data_parallel.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace {

constexpr double half = 2.0;  // bytes of a bf16 or fp16 element

/// Layers of a stage that full recomputation runs twice.
int recomputed_layers(const Job& job, const StageLayout& layout, int stage) {
  const Recompute& recompute = job.memory.recompute;
  if (recompute.kind != RecomputeKind::full) return 0;
  if (recompute.method == RecomputeMethod::uniform) return layout.layers(stage);
  int count = 0;  // block: the first `layers` of every chunk
  for (const ChunkLayers& chunk : layout.chunks[static_cast<std::size_t>(stage)])
    count += std::min(chunk.layers, recompute.layers);
  return count;
}

/// One activation (or its gradient) from a stage to the next.
Seconds boundary_time(const Job& job) {
  const Parallel& plan = job.parallel;
  if (plan.pipeline == 1) return Seconds{};
  const CollectivePath path{job.cluster, job.device_profile, job.site};
  const double tokens =
      static_cast<double>(job.training.micro_batch) * job.training.sequence / plan.context;
  const double split = plan.sequence || job.stack.times.scatter_gather ? plan.tensor : 1.0;
  const Bytes payload{half * tokens * job.model.hidden / split};
  const int stride = plan.tensor * plan.context * plan.data;
  return send_time(payload, comm_group(2, stride, job.cluster.host.gpus).span_hosts, path);
}

struct Pipeline {
  TimeParts mean;  ///< over stages, of one micro-batch
  Seconds sum;     ///< over stages
  Seconds slowest;
};

Pipeline summarise(const std::vector<PieceTimes>& stages) {
  Pipeline pipeline;
  for (const PieceTimes& stage : stages) {
    const TimeParts parts = stage.all();
    pipeline.mean += 1.0 / static_cast<double>(stages.size()) * parts;
    pipeline.sum += parts.total();
    pipeline.slowest = max(pipeline.slowest, parts.total());
  }
  return pipeline;
}

}  // namespace

std::vector<PieceTimes> stage_times(const Job& job, const StageLayout& layout,
                                    const LayerCost& cost) {
  std::vector<PieceTimes> stages(static_cast<std::size_t>(layout.stages()));
  for (int stage = 0; stage < layout.stages(); ++stage) {
    PieceTimes& sum = stages[static_cast<std::size_t>(stage)];
    const int again = recomputed_layers(job, layout, stage);
    sum += static_cast<double>(layout.layers(stage) - again) * cost.layer();
    sum += static_cast<double>(again) * cost.recomputed_layer();
  }
  stages.front() += cost.embedding();
  stages.back() += cost.head();
  return stages;
}

StepForecast step_time(const Job& job, const StageLayout& layout) {
  const LayerCost cost{job};
  const std::vector<PieceTimes> stages = stage_times(job, layout, cost);
  const Pipeline pipeline = summarise(stages);
  const StackTimes& stack = job.stack.times;
  const double microbatches = job.microbatches();
  const double chunks = job.parallel.virtual_stages;
  const Seconds transfer = boundary_time(job);
  const double in_steady_state = job.communication.overlap.pipeline ? stack.pipeline_exposed : 1.0;

  StepForecast step;
  TimeBreakdown& parts = step.breakdown;
  parts.compute = microbatches * pipeline.mean.compute;
  parts.recompute = microbatches * pipeline.mean.recompute;
  parts.tensor = microbatches * pipeline.mean.tensor;
  parts.launch = microbatches * pipeline.mean.launch + stack.step_constant;
  parts.imbalance = microbatches * (pipeline.slowest - pipeline.mean.total());
  parts.bubble = (pipeline.sum - pipeline.slowest) / chunks;
  parts.pipeline =
      2.0 * transfer * (microbatches * chunks * in_steady_state + (job.parallel.pipeline - 1.0));
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const PieceTimes& passes = stages[static_cast<std::size_t>(stage)];
    parts.data =
        max(parts.data, data_parallel_time(job, layout, stage,
                                           {passes.backward().total(), passes.forward.total()}));
    parts.optimizer = max(parts.optimizer, optimizer_time(job, layout, stage));
  }
  // The slowest of many hosts sets the pace.
  const double doublings = std::log2(std::max(1, job.cluster.hosts));
  parts.imbalance += stack.jitter * doublings * parts.total();
  step.time = parts.total();
  step.low = step.high = step.time;
  return step;
}

}  // namespace foretrain
