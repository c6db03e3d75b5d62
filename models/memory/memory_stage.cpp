// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace memory_detail {
namespace {

using Item = MemoryItem;

void add_outside(const StageContext& context, StageAccount& account) {
  const OutsideBytes bytes = outside_bytes(context.job);
  account.outside[Item::communicators] = bytes.communicators;
  account.outside[Item::context] = bytes.context;
  const double outside = bytes.total();
  const double least = device_bytes(context.job, account.allocated, outside);
  const MemoryNeed need = need_of(context.job, account.allocated, outside, account.paged);
  account.device = need.peak.value();
  account.high = need.high.value();
  const double least_share = std::max(0.0, 1.0 - reserved_band(context.job));
  account.low = device_bytes(context.job, least_share * account.allocated, outside);
  account.outside[Item::fragmentation] = least - (account.allocated + outside);
  // Every update brings the pages that left back, and what fills their place down.
  const double here = account.device - least;
  const double away = account.paged - here;
  account.outside[Item::dense_optimizer] = here;
  account.host += away;
  account.to_host += away;
  account.to_device += away;
}

/// Torch's counter saw the tensors of captured parts of layers once, when they were captured, with
/// nothing else of a step around them: replays write into their pools without asking the allocator.
double counted(const StageAccount& account) {
  if (account.captured <= 0.0) return account.allocated;
  double most = 0.0;
  for (std::size_t phase = 0; phase < memory_phases; ++phase) {
    const auto at = static_cast<MemoryPhase>(phase);
    const bool pass = at == MemoryPhase::forward_loss || at == MemoryPhase::backward_layer ||
                      at == MemoryPhase::backward_output;
    most = std::max(most, account.total[phase] - (pass ? account.captured : 0.0));
  }
  return most;
}

void offload_activations(const StageContext& context, const JobLivePasses& live,
                         StageAccount& account) {
  const OffloadedActivations offloaded = offloaded_activations(context, live);
  account.host += offloaded.held;
  const double moved = offloaded.per_microbatch * context.job.microbatches();
  account.to_host += moved;
  account.to_device += moved;
}

}  // namespace

namespace {

MemoryBytes& in_phase(StageAccount& account, MemoryPhase phase) {
  return account.phase[static_cast<std::size_t>(phase)];
}

/// Weights, optimizer states, and what stays between steps; with gradients in the second.
struct Resident {
  MemoryBytes states;
  MemoryBytes with_gradients;
};

Resident resident_in(const StageContext& context, StageAccount& account) {
  Resident held;
  add_weights(context, held.states);
  add_optimizer(context, held.states);
  offload_states(context, held.states, account);
  add_workspaces(context, held.states);
  add_leftovers(context, held.states);
  held.with_gradients = held.states;
  add_gradients(context, held.with_gradients);
  return held;
}

/// Between steps and in the optimizer step.
void fill_outside_passes(const StageContext& context, const Resident& held, StageAccount& account) {
  const bool kept = context.rules.gradients_resident;
  const double main = main_gradients(context);
  MemoryBytes& between = in_phase(account, MemoryPhase::between_steps);
  between = kept ? held.with_gradients : held.states;
  between[Item::main_gradients] = kept ? main : 0.0;
  MemoryBytes& optimizer = in_phase(account, MemoryPhase::optimizer);
  optimizer = held.with_gradients;
  optimizer[Item::main_gradients] = main;
  optimizer[Item::step_copies] = step_copies(context);
}

/// In forward and backward passes.
void fill_passes(const StageContext& context, const Resident& held, const LiveTensors& live,
                 StageAccount& account) {
  const Job& job = context.job;
  MemoryBytes& forward = in_phase(account, MemoryPhase::forward_loss);
  forward = accumulates_gradients(context) ? held.with_gradients : held.states;
  add_live(context, live, forward);
  add_step_buffers(context, forward);
  add_deferred_outputs(context, job.memory.deferred_outputs - 1, forward);
  add_unsharded(context, false, forward);
  MemoryBytes& backward = in_phase(account, MemoryPhase::backward_layer);
  backward = held.with_gradients;
  backward[Item::reduce_buffers] += reduce_bucket(context);
  add_live(context, live, backward);
  add_step_buffers(context, backward);
  add_deferred_outputs(context, job.memory.deferred_outputs, backward);
  add_unsharded(context, true, backward);
  add_backward_layer(context, live, backward);
  const double share = loss_share(context);
  if (share <= 0.0) return;
  MemoryBytes& output = in_phase(account, MemoryPhase::backward_output);
  output = forward;
  forward[Item::loss] = share * context.activations.output.loss;
  output[Item::loss_gradient] = share * context.activations.output.loss_gradient;
  output[Item::output_weight_gradient] = share * context.activations.output_weight_gradient;
  output[Item::step_copies] = output_step_copies(context);
}

/// The fullest phase decides.
void find_peak(StageAccount& account) {
  account.resident = account.total[static_cast<std::size_t>(MemoryPhase::between_steps)];
  for (std::size_t phase = 0; phase < memory_phases; ++phase) {
    const double total = account.total[phase];
    if (total <= account.allocated) continue;
    account.allocated = total;
    account.peak_phase = static_cast<MemoryPhase>(phase);
  }
  account.counted = counted(account);
}

}  // namespace

StageAccount account(const StageContext& context, const JobLivePasses& live, bool first) {
  StageAccount result;
  result.stage = context.stage;
  result.layers = context.layout.layers(context.stage);
  const LiveTensors tensors = live_tensors(context.job, context, context.layout, live);
  const Resident held = resident_in(context, result);
  fill_outside_passes(context, held, result);
  fill_passes(context, held, tensors, result);
  capture_graphs(context, live, result);
  if (context.job.parallel.single_process())
    first ? hold_on_first(context, result) : hold_on_other(context, result);
  offload_activations(context, live, result);
  if (sums_suffice(context.job))
    result.total = phase_totals(context, state_bytes(context), tensors);
  else
    for (std::size_t phase = 0; phase < memory_phases; ++phase)
      result.total[phase] = result.phase[phase].total();
  find_peak(result);
  add_outside(context, result);
  return result;
}

StageContext pass_context(const Job& job, const StageLayout& layout,
                          const ActivationModel& activations, const StageContent& content) {
  return {content, job, job.stack.memory, layout, activations, {}, {}, 1.0, 1.0};
}

void add_shards(StageContext& context) {
  const Job& job = context.job;
  context.parameters =
      rank_parameters(job, context.activations.parameters, context.layout, context.stage);
  context.trained =
      rank_parameters(job, context.activations.trained, context.layout, context.stage);
  if (job.parallel.zero == 0) return;
  const ProcessGrid grid{job.parallel};
  const int all = grid.group(GroupKind::data_context).ranks();
  const int replicas = job.parallel.zero_group;  // with all ranks of each
  const int group = replicas > 0 ? std::min(replicas * (all / job.parallel.data), all) : all;
  context.dense_shards = group;
  // As many copies of an expert's states as of any other's (Megatron-Core's
  // num_distributed_optimizer_instances, HSDP).
  const int experts = job.model.moe ? grid.group(GroupKind::expert_data).ranks() : 1;
  context.expert_shards = std::max(1, experts / std::max(1, all / group));
}

StageContext make_context(const Job& job, const StageLayout& layout,
                          const ActivationModel& activations, int stage) {
  StageContext context = pass_context(job, layout, activations, stage_content(job, layout, stage));
  add_shards(context);
  return context;
}

/// Moves states to the host where the job asks for it; paged moments leave the allocator, whose
/// memory they never are (bitsandbytes/functional.py, get_paged: cudaMallocManaged). Per step the
/// gradients of the moved share go down and its new weights come up; weights that rest in host
/// memory come up for every forward and backward pass instead (arXiv 2101.06840 section 3, arXiv
/// 2104.07857 section 5).
void offload_states(const StageContext& context, MemoryBytes& rows, StageAccount& account) {
  const Job& job = context.job;
  const OffloadKind kind = job.memory.offload;
  if (kind == OffloadKind::none) return;
  const auto move = [&](Item item, double share) {
    account.host += share * rows[item];
    rows[item] *= 1.0 - share;
  };
  if (kind == OffloadKind::paged) {
    const double master = optimizer_states(job).master;
    const auto page = [&](Item item, double owned) {
      account.paged += rows[item] - master * owned;
      rows[item] = master * owned;
    };
    page(Item::dense_optimizer, context.trained.dense() / context.dense_shards);
    page(Item::expert_optimizer, context.trained.experts / context.expert_shards);
    return;
  }
  const double share = job.memory.offload_share;
  move(Item::dense_optimizer, share);
  move(Item::expert_optimizer, share);
  if (offloads_gradients(job)) account.host += sharded_gradients(context).total();
  const ParameterBytes per = parameter_bytes(job);
  const double owned = context.trained.dense() / context.dense_shards +
                       context.trained.experts / context.expert_shards;
  account.to_host += share * per.gradient * owned;
  const MemoryRules& rules = job.stack.memory;
  if (job.offloads_masters() && rules.compute_weight_bytes > 0.0 && !job.training.narrow_weights())
    account.host += rules.weight_bytes * owned;
  if (!job.offloads_parameters()) {
    account.to_device += share * per.gathered * owned;
    return;
  }
  account.to_device += 2.0 * job.microbatches() * per.gathered * owned;
  for (const Item item :
       {Item::dense_weights, Item::expert_weights, Item::embedding_weights, Item::output_weights})
    move(item, 1.0);
}

}  // namespace memory_detail

namespace {

/// Freed copies of logits that the allocator keeps.
double cached_logits(const Job& job) {
  const bool chunked =
      job.memory.fused_loss || job.training.fused_kernels.has(FusedKernel::linear_loss);
  const double logits = local_tokens(job).all * job.vocabulary() / job.parallel.tensor;
  return chunked ? 0.0 : job.stack.memory.loss_cache_bytes * logits;
}

}  // namespace

double device_bytes(const Job& job, double allocated, double outside) {
  const MemoryRules& rules = job.stack.memory;
  const bool unfused = job.memory.attention == AttentionKind::unfused;
  const double scores = unfused ? rules.score_cache_bytes * local_tokens(job).scores : 0.0;
  const double least = allocated * rules.least_reserved + scores + outside;
  const double cache = scores + cached_logits(job);
  const double usual = allocated * rules.reserved_over_allocated + cache + outside;
  return std::min(usual, std::max(least, job.cluster.host.device.usable_memory.value()));
}

StageAccount account_stage(const Job& job, const StageLayout& layout,
                           const ActivationModel& activations, int stage) {
  FORETRAIN_REQUIRE(0 <= stage && stage < layout.stages());
  return memory_detail::account(memory_detail::make_context(job, layout, activations, stage),
                                JobLivePasses{job});
}

StageAccount account_replica(const Job& job, const StageLayout& layout,
                             const ActivationModel& activations) {
  FORETRAIN_REQUIRE(job.parallel.single_process());
  return memory_detail::account(memory_detail::make_context(job, layout, activations, 0),
                                JobLivePasses{job}, false);
}

}  // namespace foretrain
