// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/internal/memory_context.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace memory_detail {
namespace {

using Item = MemoryItem;

StageContext make_context(const Job& job, const StageLayout& layout,
                          const ActivationModel& activations, int stage) {
  StageContext context{job,
                       job.stack.memory,
                       layout,
                       activations,
                       stage,
                       stage_ends(job, stage),
                       rank_parameters(job, layout, stage)};
  const bool both = job.parallel.schedule == ScheduleKind::dualpipe;
  const int mirror = job.parallel.pipeline - 1 - stage;
  context.moe_layers = layout.moe_layers(stage) + (both ? layout.moe_layers(mirror) : 0);
  context.dense_layers =
      layout.layers(stage) + (both ? layout.layers(mirror) : 0) - context.moe_layers;
  if (job.parallel.zero >= 1) {
    const int all = job.parallel.data * job.parallel.context;
    const int group = job.parallel.zero_group > 0 ? std::min(job.parallel.zero_group, all) : all;
    context.dense_shards = group;
    const int experts = job.model.moe ? job.parallel.expert_data() : 1;
    context.expert_shards =
        job.parallel.zero_group > 0 ? std::min(job.parallel.zero_group, experts) : experts;
  }
  return context;
}

void add_outside(const StageContext& context, StageAccount& account) {
  const Parallel& parallel = context.job.parallel;
  int groups = parallel.gpus() > 1 ? 1 : 0;  // the world group
  for (const int size : {parallel.tensor, parallel.context, parallel.pipeline, parallel.data,
                         context.job.model.moe ? parallel.expert : 1})
    if (size > 1 && size < parallel.gpus()) ++groups;
  account.outside[Item::communicators] = groups * context.rules.communicator.value();
  account.outside[Item::context] = context.rules.context.value();
  // The allocator keeps freed blocks until the device is full, then returns what it can.
  const double usable = context.job.cluster.host.device.usable_memory.value();
  const double free = usable - account.allocated - account.outside.total();
  const double least = account.allocated * (context.rules.least_reserved - 1.0);
  const double usual = account.allocated * (context.rules.reserved_over_allocated - 1.0);
  account.outside[Item::fragmentation] = std::min(usual, std::max(least, free));
}

/// Moves states to the host where the job asks for it.
void offload_states(const StageContext& context, MemoryBytes& rows, StageAccount& account) {
  const OffloadKind kind = context.job.memory.offload;
  if (kind == OffloadKind::none) return;
  const auto move = [&](Item item) {
    account.host += rows[item];
    rows[item] = 0.0;
  };
  move(Item::dense_optimizer);
  move(Item::expert_optimizer);
  if (kind != OffloadKind::optimizer_and_parameters || context.job.parallel.zero < 3) return;
  for (const Item item :
       {Item::dense_weights, Item::expert_weights, Item::embedding_weights, Item::output_weights})
    move(item);
}

StageAccount account(const Job& job, const StageLayout& layout, const ActivationModel& activations,
                     int stage) {
  const StageContext context = make_context(job, layout, activations, stage);
  StageAccount result;
  result.stage = stage;
  result.layers = layout.layers(stage);
  const auto at = [&](MemoryPhase phase) -> MemoryBytes& {
    return result.phase[static_cast<std::size_t>(phase)];
  };

  MemoryBytes states;
  add_weights(context, states);
  add_optimizer(context, states);
  offload_states(context, states, result);
  add_workspaces(context, states);
  add_leftovers(context, states);
  MemoryBytes with_gradients = states;
  add_gradients(context, with_gradients);

  at(MemoryPhase::between_steps) = context.rules.gradients_resident ? with_gradients : states;
  at(MemoryPhase::between_steps)[Item::main_gradients] =
      context.rules.gradients_resident ? main_gradients(context) : 0.0;
  at(MemoryPhase::optimizer) = with_gradients;
  at(MemoryPhase::optimizer)[Item::main_gradients] = main_gradients(context);

  const bool accumulated = context.rules.gradients_resident || job.microbatches() > 1;
  MemoryBytes& forward = at(MemoryPhase::forward_loss);
  forward = accumulated ? with_gradients : states;
  add_live_activations(context, forward);
  add_unsharded(context, false, forward);
  MemoryBytes& backward = at(MemoryPhase::backward_layer);
  backward = with_gradients;
  if (job.parallel.zero >= 1 && job.parallel.data * job.parallel.context > 1)
    backward[Item::reduce_buffers] = context.rules.reduce_bucket.value();
  add_live_activations(context, backward);
  add_unsharded(context, true, backward);
  add_backward_layer(context, backward);
  const bool split = job.parallel.vocabulary != VocabularyKind::ends && job.parallel.pipeline > 1;
  const double stages = split ? job.parallel.pipeline : 1.0;
  if (context.ends.output || split) {
    MemoryBytes& output = at(MemoryPhase::backward_output);
    output = forward;
    forward[Item::loss] = activations.loss / stages;
    output[Item::loss_gradient] = activations.loss_gradient / stages;
    output[Item::output_weight_gradient] = activations.output_weight_gradient / stages;
  }

  result.host += offloaded_activations(context);
  result.resident = result.at(MemoryPhase::between_steps).total();
  for (std::size_t phase = 0; phase < memory_phases; ++phase) {
    const double total = result.phase[phase].total();
    if (total <= result.allocated) continue;
    result.allocated = total;
    result.peak_phase = static_cast<MemoryPhase>(phase);
  }
  add_outside(context, result);
  return result;
}

}  // namespace
}  // namespace memory_detail

StageAccount account_stage(const Job& job, const StageLayout& layout,
                           const ActivationModel& activations, int stage) {
  FORETRAIN_REQUIRE(0 <= stage && stage < layout.stages());
  return memory_detail::account(job, layout, activations, stage);
}

}  // namespace foretrain
