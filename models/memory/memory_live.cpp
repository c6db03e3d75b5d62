// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>

#include "models/base/ranges.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/eight_bit_weights.hpp"
#include "models/layers/layer_ends.hpp"
#include "models/memory/internal/memory_context.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/sharded_pipeline.hpp"

namespace foretrain::memory_detail {
namespace {

using Item = MemoryItem;

/// Without a pipeline, the previous micro-batch's mask and boundary tensors live until the next
/// forward pass replaces them.
template <class Rows>
void add_previous_microbatch(const StageContext& context, Rows& rows) {
  const Job& job = context.job;
  if (context.rules.boundary_tensors <= 0.0 || job.parallel.pipeline > 1) return;
  if (job.microbatches() < 2) return;
  const double element = full_precision(job.training.precision) ? 4.0 : 2.0;
  rows[Item::boundary_tensors] += context.rules.boundary_tensors * element *
                                  context.activations.tokens.residual * job.model.boundary_width();
  rows[Item::attention_mask] += context.activations.mask;
}

/// Layers of a chunk that are among the first `layers` of the model.
int first_of(int layers, const ChunkLayers& chunk) {
  return std::clamp(layers - chunk.first_layer, 0, chunk.layers);
}

/// Layers at the start of a chunk that keep nothing: no gradient goes through them.
int frozen_of(const Job& job, const ChunkLayers& chunk) {
  return first_of(job.fine_tuning.frozen_layers, chunk);
}

/// Those, and what follows them of which all saved tensors wait in host memory.
int away_of(const Job& job, const ChunkLayers& chunk) {
  return std::max(frozen_of(job, chunk), first_of(job.memory.offloaded_layers, chunk));
}

/// Layers that full recomputation makes again together from one input.
int remade_together(const Recompute& recompute) {
  return recompute.method == RecomputeMethod::uniform ? std::max(1, recompute.layers) : 1;
}

/// The first layers of a chunk that full recomputation makes again.
int remade_layers(const Recompute& recompute, int layers) {
  if (recompute.kind != RecomputeKind::full) return 0;
  return recompute.method == RecomputeMethod::uniform ? layers : std::min(recompute.layers, layers);
}

/// What a chunk keeps for one pass: layers with their tensors, and inputs of those made again.
struct KeptLayers {
  FormCounts whole{};
  int inputs = 0;
};

/// The same of the layers from the `from`-th to before the `to`-th of a chunk.
KeptLayers kept_between(const Job& job, const ChunkLayers& chunk, int from, int to) {
  const Recompute& recompute = job.memory.recompute;
  const int again = remade_layers(recompute, chunk.layers);
  const int group = remade_together(recompute);
  const auto groups = [&](int layers) { return (std::min(layers, again) + group - 1) / group; };
  const int first = std::clamp(again, from, to);
  return {job.model.form_counts(chunk.first_layer + first, to - first), groups(to) - groups(from)};
}

/// Layers of a chunk that keep their tensors or their input on the device, in `passes` passes.
void count_layers(const Job& job, const ChunkLayers& chunk, double passes, LiveTensors& live) {
  const KeptLayers kept = kept_between(job, chunk, away_of(job, chunk), chunk.layers);
  live.inputs += passes * kept.inputs;
  for (std::size_t form = 0; form < layer_forms; ++form)
    live.layers[form] += passes * kept.whole[form];
}

/// The layer whose offloaded tensors are in use; the backward pass also fetches the next one. Of
/// layers that are all made again these are inputs.
double offload_window(const StageContext& context) {
  const ActivationModel& model = context.activations;
  const MemoryOptions& memory = context.job.memory;
  const bool whole = memory.offloaded_layers > 0;
  const bool full = memory.recompute.kind == RecomputeKind::full;
  const bool uniform = full && memory.recompute.method == RecomputeMethod::uniform;
  const bool inputs = uniform || (full && memory.recompute.layers >= memory.offloaded_layers);
  if (whole && inputs) return model.layer_input;
  if (uniform) return 0.0;
  return context.most([&](std::size_t form) {
    const FormActivations& layer = model.forms[form];
    return whole ? layer.kept.total() : layer.offloaded;
  });
}

/// Where weight gradients are postponed, inputs and output gradients of a layer's linear layers
/// wait (arXiv 2401.10241 table 1, M_W).
double postponed(const LayerActivations& layer, const ActivationModel& model) {
  return layer.attention_norm_output + layer.mlp_norm_output + layer.attention_output +
         layer.mlp_output + layer.expert_tokens + layer.expert_output + layer.qkv +
         layer.mlp_input + layer.expert_input + layer.mixer_input + 2.0 * model.layer_input;
}

}  // namespace

bool LiveTensors::covers(const LiveTensors& other) const {
  const auto no_less = [](const auto& mine, const auto& others) {
    return std::equal(mine.begin(), mine.end(), others.begin(), std::greater_equal<>{});
  };
  return inputs >= other.inputs && passes >= other.passes && embedding >= other.embedding &&
         output >= other.output && prediction >= other.prediction &&
         no_less(layers, other.layers) && no_less(postponed, other.postponed);
}

void count_live_chunk(const Job& job, const HeldChunk& chunk, double passes, LiveTensors& live) {
  count_layers(job, chunk.layers, passes, live);
  live.passes += passes;
  if (chunk.ends.embedding) live.embedding += passes;
  if (chunk.ends.output) live.output += passes;
  if (chunk.ends.prediction) live.prediction += passes;
}

LiveTensors live_tensors(const Job& job, const StageContent& content, const StageLayout& layout,
                         const JobLivePasses& live) {
  const ScheduleShape shape = schedule_shape(job);
  LiveTensors tensors;
  for (int chunk = 0; chunk < shape.chunks; ++chunk) {
    const HeldChunk held = held_chunk(content, layout, shape, chunk);
    const LivePasses passes = live.at(content.stage, chunk);
    count_live_chunk(job, held, passes.whole, tensors);
    const ChunkLayers& layers = held.layers;
    for (std::size_t form = 0; form < layer_forms; ++form)
      tensors.postponed[form] += passes.for_weights * layers.forms[form];
  }
  return tensors;
}

template <class Rows>
void add_live(const StageContext& context, const LiveTensors& live, Rows& rows) {
  const ActivationModel& model = context.activations;
  const Job& job = context.job;
  if (live.inputs > 0.0) rows[Item::layer_inputs] += live.inputs * model.layer_input;
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (live.layers[form] > 0.0) model.forms[form].kept.add_to(rows, live.layers[form]);
  if (!context.rules.output_deallocation && job.parallel.pipeline > 1)
    rows[Item::boundary_tensors] += live.passes * model.layer_input;
  rows[Item::model_ends] += live.embedding * model.embedding.kept + live.output * model.output.kept;
  rows[Item::vision_tower] += live.embedding * model.tower;
  const double modules = job.model.mtp_layers;
  if (live.prediction > 0.0) {
    const double layer = job.memory.recompute.kind == RecomputeKind::full
                             ? model.layer_input
                             : model.of({prediction_layer(job.model)}).kept.total();
    rows[Item::mtp_layers] += live.prediction * modules * (layer + model.prediction.kept);
  }
  if (live.output > 0.0 && modules > 0.0) {
    // Hidden states that come from another stage are kept here as well.
    const double received = predicts_apart(job) ? model.layer_input : 0.0;
    rows[Item::mtp_layers] += live.output * modules * (received + model.output.retained_loss);
  }
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (live.postponed[form] > 0.0)
      rows[Item::postponed_gradients] +=
          live.postponed[form] * postponed(model.forms[form].whole, model);
}
template void add_live(const StageContext& context, const LiveTensors& live, MemoryBytes& rows);
template void add_live(const StageContext& context, const LiveTensors& live, MemorySum& rows);

template <class Rows>
void add_step_buffers(const StageContext& context, Rows& rows) {
  rows[Item::attention_mask] += context.activations.mask;
  add_previous_microbatch(context, rows);
  rows[Item::offload_window] += offload_window(context);
}

template void add_step_buffers(const StageContext& context, MemoryBytes& rows);
template void add_step_buffers(const StageContext& context, MemorySum& rows);

HeldChunk held_chunk(const StageContent& content, const StageLayout& layout,
                     const ScheduleShape& shape, int chunk) {
  const bool mirrored =
      traits_of(shape.kind).placement == Placement::mirrored && chunk == shape.chunks - 1;
  const int stage = mirrored ? shape.stages - 1 - content.stage : content.stage;
  const int position = position_of(shape, {content.stage, chunk});
  return {layout.chunks[index(stage)][mirrored ? 0 : index(chunk)],
          {content.ends.embedding && position == 0,
           content.ends.output && position == positions(shape) - 1,
           content.ends.prediction && (content.ends.output ? position == positions(shape) - 1
                                                           : chunk == shape.chunks - 1)}};
}

/// What one layer needs while it goes backward: its own gradients and, with full recomputation,
/// the layers that are made again. Under `block` the layers kept whole are gone by then.
template <class Rows>
void add_backward_layer(const StageContext& context, const LiveTensors& live, Rows& rows) {
  const ActivationModel& model = context.activations;
  if (context.job.parallel.zero >= 3 && context.job.fine_tuning.adapts())
    rows[Item::layer_inputs] +=
        context.rules.adapter_input_copies * live.inputs * model.layer_input;
  rows[Item::layer_transient] +=
      context.most([&](std::size_t form) { return model.forms[form].transient; });
  rows[Item::offload_window] += offload_window(context);
  const Recompute& recompute = context.job.memory.recompute;
  const bool offloads = model.offloads();
  if (recompute.kind == RecomputeKind::selective && !offloads)
    rows[Item::recomputed_layer] += context.most([&](std::size_t form) {
      return model.forms[form].whole.total() - model.forms[form].kept.total();
    });
  if (recompute.kind != RecomputeKind::full) return;
  int layers = std::min(std::max(1, recompute.layers), context.largest_chunk);
  if (recompute.method == RecomputeMethod::block) layers = context.remakes_chunk ? 1 : 0;
  rows[Item::recomputed_layer] +=
      layers * context.most([&](std::size_t form) { return model.forms[form].whole.total(); });
}
template void add_backward_layer(const StageContext& context, const LiveTensors& live,
                                 MemoryBytes& rows);
template void add_backward_layer(const StageContext& context, const LiveTensors& live,
                                 MemorySum& rows);

double reduce_bucket(const StageContext& context) {
  const Job& job = context.job;
  if (job.parallel.zero == 0 || context.rules.reduce_bucket <= Bytes{}) return 0.0;
  if (ProcessGrid{job.parallel}.group(GroupKind::data_context).ranks() == 1) return 0.0;
  const Bytes bucket = job.communication.bucket;
  const bool chosen = bucket != Communication{}.bucket;
  return (chosen ? bucket : context.rules.reduce_bucket).value();
}

double replica_buckets(const StageContext& context) {
  const Job& job = context.job;
  const Parallel& plan = job.parallel;
  const bool sums = plan.zero == 0 && job.stack.eager_torch && !plan.single_process() &&
                    ProcessGrid{plan}.group(GroupKind::data_context).ranks() > 1;
  if (!sums) return 0.0;
  const double gradients = parameter_bytes(job).gradient * context.trained.total();
  if (plan.framework != PlanFramework::horovod) return gradients;
  return std::min(gradients, job.communication.bucket.value());
}

namespace {

/// Parameters of the largest form of layer that a stage has.
double largest_layer(const StageContext& context, const RankLayers& held) {
  return context.most(
      [&](std::size_t form) { return held.forms[form].dense + held.forms[form].experts; });
}

/// Bytes of the largest form of layer that a stage gathers: frozen matrices come packed, others in
/// 8 bits where ranks cast them first.
double gathered_layer(const StageContext& context) {
  const ActivationModel& model = context.activations;
  const FineTuning& tuning = context.job.fine_tuning;
  const double per = parameter_bytes(context.job).gathered;
  const double less = tuning.packs_frozen() ? per - packed_bytes(tuning.frozen_format) : 0.0;
  const double narrow = per * narrower_shards(context.job);
  return context.most([&](std::size_t form) {
    const RankLayer& held = model.parameters.forms[form];
    const RankLayer& trained = model.trained.forms[form];
    const double experts = tuning.packs_experts() ? held.experts - trained.experts : 0.0;
    const double packed = held.dense_matrices - trained.dense_matrices + experts;
    const double cast = narrow * (trained.dense_matrices + trained.experts);
    return per * (held.dense + held.experts) - less * packed - cast;
  });
}

}  // namespace

/// Weights and gradients that exist unsharded for a moment (ZeRO-2, ZeRO-3, FSDP).
void add_unsharded(const StageContext& context, bool backward, MemoryBytes& rows) {
  const Job& job = context.job;
  if (job.parallel.zero < 2) return;
  const ParameterBytes per = parameter_bytes(job);
  const double layer = gathered_layer(context);
  const bool gathers = job.parallel.zero >= 3 || job.rests_wide();
  if (gathers) {
    // The layer in use and the one prefetched; without resharding (ZeRO-2 over fp32 shards, and
    // backward passes under a pipeline), all.
    const bool reshards = job.parallel.zero >= 3 && scatters_every_pass(job);
    rows[Item::gathered_weights] += reshards ? context.rules.gathered_layers * layer
                                             : per.gathered * context.parameters.total();
    if (reshards && context.rules.root_gathered)
      rows[Item::gathered_weights] +=
          per.gathered *
          (context.parameters.embedding - context.parameters.tower + context.parameters.output);
    else if (context.ends.output && !backward && reshards)
      rows[Item::gathered_weights] += per.gathered * context.parameters.output;
  }
  if (!backward) return;
  // 16-bit gradients of two layers; whole sums of a pipeline take those of one at a time.
  const double trained = largest_layer(context, context.activations.trained);
  rows[Item::unsharded_gradients] += (scatters_every_pass(job) ? 2.0 : 1.0) * 2.0 * trained;
  // Of these, 4 are the copy in 32 bits that is summed.
  constexpr double wide = 4.0;
  const double reduced = context.rules.reduce_bytes;
  const bool narrow = job.training.narrow_weights() && reduced > wide;
  rows[Item::reduce_buffers] += (narrow ? reduced - wide + 2.0 : reduced) * trained;
}

OffloadedActivations offloaded_activations(const StageContext& context, const JobLivePasses& live) {
  const ActivationModel& model = context.activations;
  const bool none = context.job.memory.offloaded_layers == 0 && !model.offloads();
  if (none) return {};
  const ScheduleShape shape = schedule_shape(context.job);
  OffloadedActivations result;
  for (int index = 0; index < shape.chunks; ++index) {
    const ChunkLayers& chunk = held_chunk(context, context.layout, shape, index).layers;
    const int frozen = frozen_of(context.job, chunk);
    const KeptLayers away = kept_between(context.job, chunk, frozen, away_of(context.job, chunk));
    const FormCounts whole = kept_between(context.job, chunk, frozen, chunk.layers).whole;
    double size = away.inputs * model.layer_input;
    for (std::size_t form = 0; form < layer_forms; ++form)
      size += model.forms[form].offloaded * whole[form] +
              model.forms[form].kept.total() * away.whole[form];
    result.held += live.at(context.stage, index).held() * size;
    result.per_microbatch += size / weight_copies(context.job.parallel);  // one way or the other
  }
  return result;
}

/// Logit gradients and output layer inputs that wait until the pipeline drains.
template <class Rows>
void add_deferred_outputs(const StageContext& context, int microbatches, Rows& rows) {
  if (!context.ends.output) return;
  rows[Item::postponed_gradients] += std::clamp(microbatches, 0, context.job.microbatches()) *
                                     context.activations.output.deferred_output;
}
template void add_deferred_outputs(const StageContext& context, int microbatches,
                                   MemoryBytes& rows);
template void add_deferred_outputs(const StageContext& context, int microbatches, MemorySum& rows);

}  // namespace foretrain::memory_detail
