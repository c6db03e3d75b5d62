// SPDX-License-Identifier: Apache-2.0
// What a stage needs without its rows: sums of parts, each of which few axes of a plan decide.
#include <algorithm>

#include "models/base/require.hpp"
#include "models/layers/model_ends.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/memory/memory.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain::memory_detail {
namespace {

/// What `add` puts into rows.
template <class Add>
double sum_of(const Add& add) {
  MemorySum rows;
  add(rows);
  return rows.sum;
}

template <class Add>
double rows_of(const Add& add) {
  MemoryBytes rows;
  add(rows);
  return rows.total();
}

}  // namespace

bool StageContent::holds_like(const StageContent& other) const {
  return ends.embedding == other.ends.embedding && ends.output == other.ends.output &&
         ends.prediction == other.ends.prediction && layers == other.layers &&
         largest_chunk == other.largest_chunk && remakes_chunk == other.remakes_chunk;
}

StageContent stage_content(const Job& job, const StageLayout& layout, int stage) {
  FORETRAIN_REQUIRE(0 <= stage && stage < layout.stages());
  const bool both = holds_mirror(job.parallel);
  const int mirror = layout.stages() - 1 - stage;
  StageContent content{.stage = stage, .ends = stage_ends(job, stage)};
  content.layers = layout.forms(stage);
  if (both) add_forms(layout.forms(mirror), content.layers);
  const bool full = job.memory.recompute.kind == RecomputeKind::full;
  const int remade = full ? job.memory.recompute.layers : 0;
  for (const ChunkLayers& chunk : layout.chunks[static_cast<std::size_t>(stage)]) {
    content.largest_chunk = std::max(content.largest_chunk, chunk.layers);
    content.remakes_chunk =
        content.remakes_chunk || (full && chunk.layers > 0 && remade >= chunk.layers);
  }
  return content;
}

double loss_share(const StageContext& context) {
  const Parallel& plan = context.job.parallel;
  if (splits_vocabulary(plan)) return 1.0 / plan.pipeline;
  return context.ends.output ? 1.0 : 0.0;
}

StateBytes state_bytes(const StageContext& context) {
  StateBytes bytes;
  StageAccount moved;
  bytes.states = rows_of([&](MemoryBytes& rows) {
    add_weights(context, rows);
    add_optimizer(context, rows);
    offload_states(context, rows, moved);
    add_workspaces(context, rows);
  });
  bytes.paged = moved.paged;
  bytes.gradients = rows_of([&](MemoryBytes& rows) { add_gradients(context, rows); });
  bytes.main_gradients = main_gradients(context);
  bytes.step_copies = step_copies(context);
  bytes.output_step_copies = output_step_copies(context);
  bytes.reduce_bucket = reduce_bucket(context);
  bytes.unsharded_forward =
      rows_of([&](MemoryBytes& rows) { add_unsharded(context, false, rows); });
  bytes.unsharded_backward =
      rows_of([&](MemoryBytes& rows) { add_unsharded(context, true, rows); });
  return bytes;
}

bool sums_suffice(const Job& job) {
  return !job.training.cuda_graphs.any() && !job.parallel.single_process();
}

PhaseTotals phase_totals(const StageContext& context, const StateBytes& states,
                         const LiveTensors& live) {
  const int deferred = context.job.memory.deferred_outputs;
  const double held =
      states.states + sum_of([&](MemorySum& rows) { add_leftovers(context, rows); });
  const double with_gradients = held + states.gradients;
  const double alive = sum_of([&](MemorySum& rows) {
    add_live(context, live, rows);
    add_step_buffers(context, rows);
  });
  const auto outputs = [&](int microbatches) {
    return sum_of([&](MemorySum& rows) { add_deferred_outputs(context, microbatches, rows); });
  };
  const double layer = sum_of([&](MemorySum& rows) { add_backward_layer(context, live, rows); });
  PhaseTotals totals{};
  const auto of = [&](MemoryPhase phase) -> double& {
    return totals[static_cast<std::size_t>(phase)];
  };
  of(MemoryPhase::between_steps) =
      context.rules.gradients_resident ? with_gradients + states.main_gradients : held;
  of(MemoryPhase::optimizer) = with_gradients + states.main_gradients + states.step_copies;
  const double forward = (accumulates_gradients(context) ? with_gradients : held) + alive +
                         outputs(deferred - 1) + states.unsharded_forward;
  of(MemoryPhase::forward_loss) = forward;
  of(MemoryPhase::backward_layer) = with_gradients + states.reduce_bucket + alive +
                                    outputs(deferred) + states.unsharded_backward + layer;
  const double share = loss_share(context);
  if (share <= 0.0) return totals;
  const ActivationModel& model = context.activations;
  of(MemoryPhase::forward_loss) = forward + share * model.output.loss;
  of(MemoryPhase::backward_output) =
      forward + share * (model.output.loss_gradient + model.output_weight_gradient) +
      states.output_step_copies;
  return totals;
}

OutsideBytes outside_bytes(const Job& job) {
  const Parallel& parallel = job.parallel;
  const int gpus = parallel.gpus();
  int groups = gpus > 1 ? 1 : 0;  // the world group
  for (const int size : {parallel.tensor, parallel.context, parallel.pipeline, parallel.data,
                         job.model.moe ? parallel.expert : 1})
    if (size > 1 && size < gpus) ++groups;
  if (job.communication.backend == Backend::gloo) groups = 0;  // its buffers are the host's
  const MemoryRules& rules = job.stack.memory;
  return {groups * rules.communicator.value(), rules.context.value()};
}

MemoryNeed need_of(const Job& job, double allocated, double outside, double paged) {
  const double room = job.cluster.host.device.usable_memory.value();
  const auto filled = [&](double bytes) {
    const double without = device_bytes(job, bytes, outside);
    return Bytes{std::max(without, std::min(room, without + paged))};
  };
  return {filled(allocated), filled((1.0 + reserved_band(job)) * allocated)};
}

std::vector<HeavyStage> heavy_stages(const Job& job, const StageLayout& layout) {
  const JobLivePasses live{job};
  std::vector<HeavyStage> heavy;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const StageContent content = stage_content(job, layout, stage);
    const LiveTensors tensors = live_tensors(job, content, layout, live);
    const bool light = std::ranges::any_of(heavy, [&](const HeavyStage& other) {
      return other.content.holds_like(content) && other.live.covers(tensors);
    });
    if (!light) heavy.push_back({content, tensors});
  }
  return heavy;
}

}  // namespace foretrain::memory_detail
