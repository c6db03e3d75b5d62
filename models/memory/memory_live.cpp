// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "models/base/index.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/sharded_pipeline.hpp"

namespace foretrain::memory_detail {
namespace {

using Item = MemoryItem;

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

/// Layers of a chunk whose saved tensors all wait in host memory: the first ones of the model.
struct OffloadedLayers {
  int dense = 0;
  int moe = 0;
};

OffloadedLayers offloaded_layers(const Job& job, const ChunkLayers& chunk) {
  OffloadedLayers count;
  const int end = std::min(chunk.first_layer + chunk.layers, job.memory.offloaded_layers);
  for (int layer = chunk.first_layer; layer < end; ++layer)
    ++(job.model.moe && job.model.is_moe_layer(layer) ? count.moe : count.dense);
  return count;
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
      const int saved = (chunk.layers + group - 1) / group;
      rows[Item::layer_inputs] += passes * model.layer_input * saved;
      return;
    }
    const int dropped = std::min(recompute.layers, chunk.layers);
    rows[Item::layer_inputs] += passes * model.layer_input * dropped;
    for (int layer = chunk.first_layer; layer < chunk.first_layer + dropped; ++layer)
      --(context.job.model.moe && context.job.model.is_moe_layer(layer) ? moe : dense);
  }
  const OffloadedLayers away = offloaded_layers(context.job, chunk);
  model.dense.add_to(rows, passes * (dense - away.dense));
  model.moe.add_to(rows, passes * (moe - away.moe));
}

/// The layer whose offloaded tensors are in use; the backward pass also fetches the next one.
double offload_window(const StageContext& context) {
  const ActivationModel& model = context.activations;
  const bool whole = context.job.memory.offloaded_layers > 0;
  const double dense = whole ? model.dense.total() : model.offloaded_dense;
  const double moe = whole ? model.moe.total() : model.offloaded_moe;
  return std::max(context.dense_layers > 0 ? dense : 0.0, context.moe_layers > 0 ? moe : 0.0);
}

/// Where weight gradients are postponed, inputs and output gradients of the chunk's linear layers
/// wait, of every pass that does (arXiv 2401.10241 table 1, M_W).
double postponed_weight_gradients(const StageContext& context, const ChunkLayers& chunk) {
  const auto waiting = [&](const LayerActivations& layer) {
    return layer.attention_norm_output + layer.mlp_norm_output + layer.attention_output +
           layer.mlp_output + layer.expert_tokens + layer.expert_output + layer.qkv +
           layer.mlp_input + layer.expert_input + 2.0 * context.activations.layer_input;
  };
  return (chunk.layers - chunk.moe_layers) * waiting(context.activations.dense_whole) +
         chunk.moe_layers * waiting(context.activations.moe_whole);
}

}  // namespace

void add_live_chunk(const StageContext& context, const ChunkLayers& chunk, ChunkEnds ends,
                    double passes, MemoryBytes& rows) {
  const ActivationModel& model = context.activations;
  const Job& job = context.job;
  add_chunk(context, chunk, passes, rows);
  if (!context.rules.output_deallocation && job.parallel.pipeline > 1)
    rows[Item::boundary_tensors] += passes * model.layer_input;
  if (ends.embedding) rows[Item::model_ends] += passes * model.embedding.kept;
  if (!ends.output) return;
  rows[Item::model_ends] += passes * model.output.kept;
  const double layer = job.memory.recompute.kind == RecomputeKind::full
                           ? model.layer_input
                           : (job.model.moe ? model.moe.total() : model.dense.total());
  rows[Item::mtp_layers] +=
      passes * job.model.mtp_layers * (layer + model.prediction.kept + model.output.retained_loss);
}

void add_step_buffers(const StageContext& context, MemoryBytes& rows) {
  rows[Item::attention_mask] += context.activations.mask;
  add_previous_microbatch(context, rows);
  rows[Item::offload_window] += offload_window(context);
}

HeldChunk held_chunk(const StageContext& context, const ScheduleShape& shape, int chunk) {
  const bool mirrored =
      traits_of(shape.kind).placement == Placement::mirrored && chunk == shape.chunks - 1;
  const int stage = mirrored ? shape.stages - 1 - context.stage : context.stage;
  const int position = position_of(shape, {context.stage, chunk});
  return {context.layout.chunks[index(stage)][mirrored ? 0 : index(chunk)],
          {context.ends.embedding && position == 0,
           context.ends.output && position == positions(shape) - 1}};
}

void add_live_activations(const StageContext& context, const JobLivePasses& live,
                          MemoryBytes& rows) {
  const ScheduleShape shape = schedule_shape(context.job);
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    const HeldChunk held = held_chunk(context, shape, chunk);
    const LivePasses passes = live.at(context.stage, chunk);
    add_live_chunk(context, held.layers, held.ends, passes.whole, rows);
    if (passes.for_weights > 0)
      rows[Item::postponed_gradients] +=
          passes.for_weights * postponed_weight_gradients(context, held.layers);
  }
  add_step_buffers(context, rows);
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
  const RankLayers& held = context.activations.parameters;
  const RankLayer dense = context.dense_layers > 0 ? held.dense : RankLayer{};
  const RankLayer moe = context.moe_layers > 0 ? held.moe : RankLayer{};
  const double layer = std::max(dense.dense + dense.experts, moe.dense + moe.experts);
  const bool gathers = job.parallel.zero >= 3 || context.rules.compute_weight_bytes > 0.0;
  if (gathers) {
    // The layer in use and the one prefetched; without resharding (ZeRO-2 over fp32 shards, and
    // backward passes under a pipeline), all.
    const bool reshards = job.parallel.zero >= 3 && scatters_every_pass(job);
    const double layers = reshards ? 2.0 * layer : context.parameters.total();
    rows[Item::gathered_weights] += per.gathered * layers;
    if (context.ends.output && !backward && reshards)
      rows[Item::gathered_weights] += per.gathered * context.parameters.output;
  }
  if (!backward) return;
  // 16-bit gradients of two layers; whole sums of a pipeline take those of one at a time.
  rows[Item::unsharded_gradients] += (scatters_every_pass(job) ? 2.0 : 1.0) * 2.0 * layer;
  rows[Item::reduce_buffers] += context.rules.reduce_bytes * layer;
}

OffloadedActivations offloaded_activations(const StageContext& context, const JobLivePasses& live) {
  const ActivationModel& model = context.activations;
  const bool none = context.job.memory.offloaded_layers == 0 && model.offloaded_dense <= 0.0 &&
                    model.offloaded_moe <= 0.0;
  if (none) return {};
  const ScheduleShape shape = schedule_shape(context.job);
  OffloadedActivations result;
  for (int index = 0; index < shape.chunks; ++index) {
    const ChunkLayers& chunk = held_chunk(context, shape, index).layers;
    const OffloadedLayers away = offloaded_layers(context.job, chunk);
    const double size = model.offloaded_dense * (chunk.layers - chunk.moe_layers) +
                        model.offloaded_moe * chunk.moe_layers + model.dense.total() * away.dense +
                        model.moe.total() * away.moe;
    result.held += live.at(context.stage, index).held() * size;
    result.per_microbatch += size / weight_copies(context.job.parallel);  // one way or the other
  }
  return result;
}

/// Logit gradients and output layer inputs that wait until the pipeline drains.
void add_deferred_outputs(const StageContext& context, int microbatches, MemoryBytes& rows) {
  if (!context.ends.output) return;
  rows[Item::postponed_gradients] += std::clamp(microbatches, 0, context.job.microbatches()) *
                                     context.activations.output.deferred_output;
}

}  // namespace foretrain::memory_detail
