// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/in_flight.hpp"
#include "models/memory.hpp"
#include "models/memory_parameters.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace {

using Item = MemoryItem;

/// Everything the rows of one stage are computed from.
struct StageContext {
  const Job& job;
  const MemoryRules& rules;
  const StageLayout& layout;
  const ActivationModel& activations;
  int stage = 0;
  StageEnds ends;
  RankParameters parameters;
  int moe_layers = 0;
  int dense_layers = 0;
  double dense_shards = 1.0;    ///< ranks that share the states of a dense parameter
  double expert_shards = 1.0;
};

bool full_precision(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32;
}

struct ParameterBytes {
  double weight = 2.0;
  double gathered = 2.0;
  double gradient = 4.0;
  double step_gradient = 0.0;
};

ParameterBytes parameter_bytes(const Job& job) {
  const MemoryRules& rules = job.stack.memory;
  ParameterBytes per;
  if (full_precision(job.training.precision)) return {4.0, 4.0, 4.0, 0.0};
  per.weight = rules.weight_bytes;
  per.gathered = rules.compute_weight_bytes > 0.0 ? rules.compute_weight_bytes : per.weight;
  if (job.training.precision == Precision::fp16) {
    per.gradient = rules.gradient_bytes_fp16;
    per.step_gradient = rules.step_gradient_bytes_fp16;
  } else {
    per.gradient = rules.gradient_bytes;
    per.step_gradient = rules.step_gradient_bytes;
    const bool half_reduce = !full_precision(job.communication.gradient_dtype);
    if (half_reduce && per.gradient == 4.0) {
      per.gradient = 2.0;
      per.step_gradient = 4.0;
    }
  }
  return per;
}

struct OptimizerBytes {
  double matrix = 12.0;   ///< per parameter of a linear layer inside the transformer
  double other = 12.0;    ///< per embedding, output or vector parameter
};

OptimizerBytes optimizer_bytes(const Job& job) {
  const Training& training = job.training;
  constexpr double both_moments = 8.0;
  const double kept_master = full_precision(training.precision)
                                 ? 0.0
                                 : job.stack.memory.optimizer_bytes - both_moments;
  const double master = kept_master * training.master_bytes / 4.0;
  const double adam = master + training.first_moment_bytes + training.second_moment_bytes;
  switch (training.optimizer) {
    case OptimizerKind::adamw:
      return {adam, adam};
    case OptimizerKind::adam8bit:
      // One byte per moment and an fp32 scale per block of 256 (arXiv 2110.02861).
      return {master + 2.0 * (1.0 + 4.0 / 256.0), master + 2.0 * (1.0 + 4.0 / 256.0)};
    case OptimizerKind::sgd:
      return {master + training.first_moment_bytes, master + training.first_moment_bytes};
    case OptimizerKind::muon:
      // One momentum per matrix; embeddings, output and vectors stay with Adam (arXiv 2502.16982).
      return {master + training.first_moment_bytes, adam};
  }
  return {adam, adam};
}

StageContext make_context(const Job& job, const StageLayout& layout,
                          const ActivationModel& activations, int stage) {
  StageContext context{job, job.stack.memory, layout, activations, stage, stage_ends(job, stage),
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

/// FSDP shards its fp32 weights even where the gathered copies outlive the forward pass (zero 2).
bool shards_weights(const Job& job) {
  return job.parallel.zero >= 3 ||
         (job.parallel.zero == 2 && job.stack.memory.compute_weight_bytes > 0.0);
}

void add_weights(const StageContext& context, MemoryBytes& rows) {
  const ParameterBytes per = parameter_bytes(context.job);
  const RankParameters& parameters = context.parameters;
  const bool sharded = shards_weights(context.job);
  const double dense = per.weight / (sharded ? context.dense_shards : 1.0);
  const double experts = per.weight / (sharded ? context.expert_shards : 1.0);
  rows[Item::dense_weights] = dense * parameters.layers;
  rows[Item::expert_weights] = experts * parameters.experts;
  rows[Item::embedding_weights] = dense * parameters.embedding;
  rows[Item::output_weights] = dense * parameters.output;
  if (context.job.training.precision == Precision::fp8 && !context.job.memory.fp8_parameters)
    rows[Item::fp8_weight_copies] =
        context.rules.fp8_copy_bytes * (parameters.layer_matrices + parameters.experts);
}

void add_gradients(const StageContext& context, MemoryBytes& rows) {
  const ParameterBytes per = parameter_bytes(context.job);
  const bool sharded = context.job.parallel.zero >= 2;
  rows[Item::dense_gradients] =
      per.gradient * context.parameters.dense() / (sharded ? context.dense_shards : 1.0);
  rows[Item::expert_gradients] =
      per.gradient * context.parameters.experts / (sharded ? context.expert_shards : 1.0);
}

double main_gradients(const StageContext& context) {
  const double per = parameter_bytes(context.job).step_gradient;
  return per * (context.parameters.dense() / context.dense_shards +
                context.parameters.experts / context.expert_shards);
}

void add_optimizer(const StageContext& context, MemoryBytes& rows) {
  const OptimizerBytes per = optimizer_bytes(context.job);
  const RankParameters& parameters = context.parameters;
  const double matrices = parameters.layers - parameters.vectors;
  const double dense = per.matrix * matrices + per.other * (parameters.dense() - matrices);
  rows[Item::dense_optimizer] = dense / context.dense_shards;
  if (context.job.training.whole_tensor_shards && context.dense_shards > 1.0) {
    // The heaviest rank owns the largest tensor, the vocabulary table, whole.
    const double table = static_cast<double>(context.job.vocabulary()) /
                         context.job.parallel.tensor * context.job.model.hidden;
    if (context.ends.embedding || context.ends.output)
      rows[Item::dense_optimizer] = std::max(rows[Item::dense_optimizer], per.other * table);
  }
  rows[Item::expert_optimizer] = per.matrix * parameters.experts / context.expert_shards;
}

void add_workspaces(const StageContext& context, MemoryBytes& rows) {
  const MemoryRules& rules = context.rules;
  const bool hopper = context.job.cluster.host.device.architecture >= Architecture::hopper;
  Bytes cublas = hopper ? rules.cublas_workspace_hopper : rules.cublas_workspace_ampere;
  if (context.job.memory.deterministic) cublas = rules.cublas_workspace_deterministic;
  const bool router = context.moe_layers > 0 && context.job.training.router_fp32;
  rows[Item::cublas_workspaces] = (rules.cublas_handles + (router ? 1 : 0)) * cublas.value();
  const Bytes engine = hopper ? rules.te_workspace_hopper : rules.te_workspace_ampere;
  const bool grouped = context.moe_layers > 0 && context.job.training.grouped_experts;
  rows[Item::te_workspaces] = (1 + (grouped ? rules.grouped_gemm_streams : 0)) * engine.value();
  if (rules.dummy_gradients && context.job.memory.fused_gradient_accumulation)
    rows[Item::dummy_gradients] =
        2.0 * distinct_weight_elements(context.job, context.dense_layers > 0,
                                       context.moe_layers > 0);
}

void add_leftovers(const StageContext& context, MemoryBytes& rows) {
  const MemoryRules& rules = context.rules;
  const Job& job = context.job;
  const double element = full_precision(job.training.precision) ? 4.0 : 2.0;
  if (rules.score_buffer && job.memory.attention == AttentionKind::unfused)
    rows[Item::score_buffer] = element * context.activations.tokens.scores;
  if (rules.gather_buffer && job.parallel.sequence && job.parallel.tensor > 1)
    rows[Item::gather_buffer] = element * context.activations.tokens.all * job.model.hidden;
  if (job.parallel.context > 1) {
    const double heads = std::max(1.0, static_cast<double>(job.model.kv_heads) / job.parallel.tensor);
    rows[Item::context_buffers] = rules.context_buffers * 2.0 * element *
                                  context.activations.tokens.all * heads * job.model.head_dim;
  }
  if (rules.boundary_tensors > 0.0 && job.parallel.pipeline > 1) {
    const double tensors =
        rules.boundary_tensors +
        rules.boundary_tensors_per_chunk * (job.parallel.virtual_stages - 1);
    rows[Item::boundary_tensors] =
        tensors * element * context.activations.tokens.residual * job.model.hidden;
    rows[Item::attention_mask] = context.activations.mask;
  }
}

/// Without a pipeline, the previous micro-batch's mask and boundary tensors live until the next
/// forward pass replaces them.
void add_previous_microbatch(const StageContext& context, MemoryBytes& rows) {
  const Job& job = context.job;
  if (context.rules.boundary_tensors <= 0.0 || job.parallel.pipeline > 1) return;
  if (job.microbatches() < 2) return;
  const double element = full_precision(job.training.precision) ? 4.0 : 2.0;
  rows[Item::boundary_tensors] += context.rules.boundary_tensors * element *
                                  context.activations.tokens.residual * job.model.hidden;
  rows[Item::attention_mask] += context.activations.mask;
}

/// Activations of `passes` live passes of one chunk.
void add_chunk(const StageContext& context, const ChunkLayers& chunk, double passes,
               MemoryBytes& rows) {
  const ActivationModel& model = context.activations;
  const Recompute& recompute = context.job.memory.recompute;
  int moe = chunk.moe_layers;
  int dense = chunk.layers - chunk.moe_layers;
  if (recompute.kind == RecomputeKind::full) {
    const int group = std::max(1, recompute.layers);
    if (recompute.method == RecomputeMethod::uniform) {
      rows[Item::layer_inputs] += passes * model.layer_input * ((chunk.layers + group - 1) / group);
      return;
    }
    const int dropped = std::min(recompute.layers, chunk.layers);
    rows[Item::layer_inputs] += passes * model.layer_input * dropped;
    for (int layer = chunk.first_layer; layer < chunk.first_layer + dropped; ++layer)
      --(context.job.model.moe && context.job.model.is_moe_layer(layer) ? moe : dense);
  }
  model.dense.add_to(rows, passes * dense);
  model.moe.add_to(rows, passes * moe);
}

/// The layer whose offloaded tensors are in use; the backward pass also fetches the next one.
double offload_window(const StageContext& context) {
  const ActivationModel& model = context.activations;
  return std::max(context.dense_layers > 0 ? model.offloaded_dense : 0.0,
                  context.moe_layers > 0 ? model.offloaded_moe : 0.0);
}

/// Zero Bubble H1 and V postpone weight gradients: inputs and output gradients of one micro-batch's
/// linear layers wait (arXiv 2401.10241 table 1, M_W).
double postponed_weight_gradients(const StageContext& context) {
  const ScheduleKind schedule = context.job.parallel.schedule;
  if (schedule != ScheduleKind::zb_h1) return 0.0;
  const auto waiting = [&](const LayerActivations& layer) {
    return layer.attention_norm_output + layer.mlp_norm_output + layer.attention_output +
           layer.mlp_output + layer.expert_tokens + layer.expert_output + layer.qkv +
           layer.mlp_input + layer.expert_input + 2.0 * context.activations.layer_input;
  };
  return context.dense_layers * waiting(context.activations.dense_whole) +
         context.moe_layers * waiting(context.activations.moe_whole);
}

void add_live_activations(const StageContext& context, MemoryBytes& rows) {
  const ActivationModel& model = context.activations;
  const InFlightShape shape = in_flight_shape(context.job);
  const auto& chunks = context.layout.chunks[static_cast<std::size_t>(context.stage)];
  const int last_chunk = static_cast<int>(chunks.size()) - 1;
  const bool both = shape.schedule == ScheduleKind::dualpipe;
  for (int chunk = 0; chunk <= last_chunk; ++chunk) {
    const auto at = static_cast<std::size_t>(chunk);
    double passes = live_passes(shape, context.stage, chunk);
    if (both) {
      passes /= 2.0;
      const int mirror = shape.stages - 1 - context.stage;
      add_chunk(context, context.layout.chunks[static_cast<std::size_t>(mirror)][at], passes, rows);
    }
    add_chunk(context, chunks[at], passes, rows);
    if (!context.rules.output_deallocation && shape.stages > 1)
      rows[Item::boundary_tensors] += passes * model.layer_input;
    if (context.ends.embedding && chunk == 0)
      rows[Item::model_ends] += passes * model.first_stage;
    if (context.ends.output && chunk == last_chunk) {
      rows[Item::model_ends] += passes * model.last_stage;
      const double layer =
          context.job.memory.recompute.kind == RecomputeKind::full
              ? model.layer_input
              : (context.job.model.moe ? model.moe.total() : model.dense.total());
      rows[Item::mtp_layers] += passes * context.job.model.mtp_layers *
                                 (layer + model.mtp_module + model.retained_loss);
    }
  }
  rows[Item::postponed_gradients] += postponed_weight_gradients(context);
  rows[Item::attention_mask] += model.mask;
  add_previous_microbatch(context, rows);
  rows[Item::offload_window] += offload_window(context);
}

/// What one layer needs while it goes backward: its own gradients and, with full recomputation,
/// the layers that are made again. Under `block` the layers kept whole are gone by then.
void add_backward_layer(const StageContext& context, MemoryBytes& rows) {
  const ActivationModel& model = context.activations;
  const bool moe = context.moe_layers > 0 && (context.dense_layers == 0 ||
                                              model.moe_whole.total() > model.dense_whole.total());
  rows[Item::layer_transient] += std::max(context.dense_layers > 0 ? model.dense_transient : 0.0,
                                           context.moe_layers > 0 ? model.moe_transient : 0.0);
  rows[Item::offload_window] += offload_window(context);
  const Recompute& recompute = context.job.memory.recompute;
  const bool offloads = model.offloaded_dense + model.offloaded_moe > 0.0;
  if (recompute.kind == RecomputeKind::selective && !offloads)
    rows[Item::recomputed_layer] +=
        std::max(context.dense_layers > 0 ? model.dense_whole.total() - model.dense.total() : 0.0,
                 context.moe_layers > 0 ? model.moe_whole.total() - model.moe.total() : 0.0);
  if (recompute.kind != RecomputeKind::full) return;
  const auto& chunks = context.layout.chunks[static_cast<std::size_t>(context.stage)];
  int most = 0;
  bool all_recomputed = false;
  for (const ChunkLayers& chunk : chunks) {
    most = std::max(most, chunk.layers);
    all_recomputed = all_recomputed || (chunk.layers > 0 && recompute.layers >= chunk.layers);
  }
  int layers = std::min(std::max(1, recompute.layers), most);
  if (recompute.method == RecomputeMethod::block) layers = all_recomputed ? 1 : 0;
  const LayerActivations& whole = moe ? model.moe_whole : model.dense_whole;
  rows[Item::recomputed_layer] += layers * whole.total();
}

/// Weights and gradients that exist unsharded for a moment (ZeRO-2, ZeRO-3, FSDP).
void add_unsharded(const StageContext& context, bool backward, MemoryBytes& rows) {
  const Job& job = context.job;
  if (job.parallel.zero < 2) return;
  const ParameterBytes per = parameter_bytes(job);
  const RankLayer dense = context.dense_layers > 0 ? rank_layer(job, false) : RankLayer{};
  const RankLayer moe = context.moe_layers > 0 ? rank_layer(job, true) : RankLayer{};
  const double layer = std::max(dense.dense + dense.experts, moe.dense + moe.experts);
  const bool gathers = job.parallel.zero >= 3 || context.rules.compute_weight_bytes > 0.0;
  if (gathers) {
    // The layer in use and the one prefetched; without resharding (ZeRO-2 over fp32 shards), all.
    const double layers = job.parallel.zero >= 3 ? 2.0 * layer : context.parameters.total();
    rows[Item::gathered_weights] += per.gathered * layers;
    if (context.ends.output && !backward && job.parallel.zero >= 3)
      rows[Item::gathered_weights] += per.gathered * context.parameters.output;
  }
  if (!backward) return;
  rows[Item::unsharded_gradients] += 2.0 * 2.0 * layer;
  rows[Item::reduce_buffers] += context.rules.reduce_bytes * layer;
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
  for (const Item item : {Item::dense_weights, Item::expert_weights, Item::embedding_weights,
                          Item::output_weights})
    move(item);
}

double offloaded_activations(const StageContext& context) {
  const ActivationModel& model = context.activations;
  if (model.offloaded_dense <= 0.0 && model.offloaded_moe <= 0.0) return 0.0;
  const InFlightShape shape = in_flight_shape(context.job);
  const auto& chunks = context.layout.chunks[static_cast<std::size_t>(context.stage)];
  double rows = 0.0;
  for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk)
    rows += live_passes(shape, context.stage, static_cast<int>(chunk)) *
             (model.offloaded_dense * (chunks[chunk].layers - chunks[chunk].moe_layers) +
              model.offloaded_moe * chunks[chunk].moe_layers);
  return rows;
}

}  // namespace

StageAccount account_stage(const Job& job, const StageLayout& layout,
                           const ActivationModel& activations, int stage) {
  FORETRAIN_REQUIRE(0 <= stage && stage < layout.stages());
  const StageContext context = make_context(job, layout, activations, stage);
  StageAccount account;
  account.stage = stage;
  account.layers = layout.layers(stage);
  const auto at = [&](MemoryPhase phase) -> MemoryBytes& {
    return account.phase[static_cast<std::size_t>(phase)];
  };

  MemoryBytes states;
  add_weights(context, states);
  add_optimizer(context, states);
  offload_states(context, states, account);
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
  if (context.ends.output) {
    MemoryBytes& output = at(MemoryPhase::backward_output);
    output = forward;
    forward[Item::loss] = activations.loss;
    output[Item::loss_gradient] = activations.loss_gradient;
    output[Item::output_weight_gradient] = activations.output_weight_gradient;
  }

  account.host += offloaded_activations(context);
  account.resident = account.at(MemoryPhase::between_steps).total();
  for (std::size_t phase = 0; phase < memory_phases; ++phase) {
    const double total = account.phase[phase].total();
    if (total <= account.allocated) continue;
    account.allocated = total;
    account.peak_phase = static_cast<MemoryPhase>(phase);
  }
  add_outside(context, account);
  return account;
}

}  // namespace foretrain
