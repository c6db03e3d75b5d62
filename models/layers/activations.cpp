// SPDX-License-Identifier: Apache-2.0
#include "models/layers/activations.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "models/inputs/recipe.hpp"
#include "models/layers/launch_graphs.hpp"
#include "models/layers/layer_description.hpp"
#include "models/layers/vision_tower.hpp"

namespace foretrain {
namespace {

constexpr double statistics_bytes = 4.0;  // norms and softmax keep statistics in fp32
constexpr double token_bytes = 8.0;       // int64
constexpr double router_bytes = 10.0;     // of an expert: logits, probabilities, map and gradients

struct Shape {
  const Job& job;
  LocalTokens tokens;
  double element = 2.0;     ///< bytes of an activation
  double gemm_input = 2.0;  ///< bytes of an element that is only kept for a weight gradient
  double residual = 0.0;    ///< elements of the residual stream
};

double element_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4.0 : 2.0;
}

Shape shape_of(const Job& job) {
  Shape shape{job, local_tokens(job)};
  shape.element = element_bytes(job.training.precision);
  const bool narrow = quantised(job.training.precision) && job.stack.memory.fp8_saves_inputs;
  shape.gemm_input = narrow ? operand_bytes(job.training.precision) : shape.element;
  shape.residual = shape.tokens.residual * job.model.stream_width();
  return shape;
}

bool fuses_activation(const Job& job) {
  return (job.stack.memory.swiglu_fused && job.memory.fused_activation) ||
         job.training.fused_kernels.has(FusedKernel::swiglu);
}

/// Fused kernels put routed rows back by a map alone, and weights were applied by the activation
/// function (Megatron-Core `moe_utils.py`, `experts.py`); HybridEP's dispatch is such a kernel.
bool permutes_fused(const Job& job) {
  return job.memory.fused_permutation || traits_of(job.communication.expert_dispatch).sorts;
}

/// Bytes of an element that the backward pass of the activation function starts from.
double activation_input(const Shape& shape) {
  return shape.job.memory.fp8_activation_inputs ? 1.0 : shape.element;
}

/// What unfused attention keeps of a score.
double score_bytes(const Shape& shape) {
  const Job& job = shape.job;
  const MemoryRules& rules = job.stack.memory;
  double per_score =
      job.training.attention_dropout > 0.0 ? rules.score_bytes : rules.score_bytes_no_dropout;
  if (!job.memory.fused_softmax) per_score += rules.score_bytes_unfused_softmax;
  return per_score * shape.element / 2.0;
}

/// A quantised projection keeps its own copy; flash attention keeps its own output beside it.
double attention_output_bytes(const Shape& shape) {
  if (shape.job.training.fp8_attention) return shape.gemm_input;
  if (shape.gemm_input == shape.element) return shape.element;
  const bool flash = shape.job.memory.attention == AttentionKind::flash;
  return flash ? shape.element + shape.gemm_input : shape.gemm_input;
}

/// Bytes per element of everything that layers keep, by Keep.
using KeepBytes = std::array<double, keep_kinds>;

double& of(KeepBytes& bytes, Keep keep) { return bytes[static_cast<std::size_t>(keep)]; }

/// Bytes of every logit, of what fused linear losses hold: chunks of about as many logits as the
/// rows have hidden elements, in 16 and 32 bits with their gradient, and the gradient of the hidden
/// states (arXiv 2410.10989 section 3.2).
double chunked_logit_bytes(const Job& job) {
  constexpr double chunk = 2.0 + 4.0 + 2.0;
  constexpr double gradient = 2.0;
  return (chunk + gradient) * job.model.hidden / job.vocabulary();
}

/// Of a logit, at the loss.
double logit_bytes(const Job& job) {
  const MemoryRules& rules = job.stack.memory;
  const double fused =
      job.memory.fused_loss_engine ? rules.loss_bytes_engine : rules.loss_bytes_fused;
  const double stated = job.memory.fused_loss ? fused : rules.loss_bytes;
  const FusedKernels& kernels = job.training.fused_kernels;
  if (kernels.has(FusedKernel::linear_loss)) return std::min(stated, chunked_logit_bytes(job));
  // The softmax in 32 bits is not kept beside the logits.
  if (kernels.has(FusedKernel::loss)) return std::min(stated, rules.loss_bytes - 4.0);
  return stated;
}

void add_logit_bytes(const Job& job, KeepBytes& bytes) {
  const MemoryRules& rules = job.stack.memory;
  const double loss = logit_bytes(job);
  const double copies = rules.loss_split ? 1.0 : job.parallel.tensor;  // of every logit
  of(bytes, Keep::token) = token_bytes;
  of(bytes, Keep::logit) = copies * loss;
  of(bytes, Keep::logit_gradient) = copies * std::min(loss, rules.loss_backward_bytes);
  of(bytes, Keep::softmax_of_loss) = copies * std::min(loss, statistics_bytes);
}

KeepBytes keep_bytes(const Shape& shape) {
  const Job& job = shape.job;
  const MemoryRules& rules = job.stack.memory;
  const bool unfused = job.memory.attention == AttentionKind::unfused;
  const bool before_hopper = job.cluster.host.device.architecture < Architecture::hopper;
  KeepBytes bytes{};
  of(bytes, Keep::element) = shape.element;
  of(bytes, Keep::attention_input) = job.training.fp8_attention ? 1.0 : shape.element;
  of(bytes, Keep::product_input) = shape.gemm_input;
  of(bytes, Keep::activation_input) = activation_input(shape);
  of(bytes, Keep::unfused_activation) = fuses_activation(job) ? 0.0 : shape.element;
  of(bytes, Keep::statistics) = statistics_bytes;
  const FusedKernels& kernels = job.training.fused_kernels;
  const bool fused_norm = job.memory.fused_norm || kernels.has(FusedKernel::norm);
  of(bytes, Keep::norm_copies) = fused_norm ? 0.0 : rules.norm_extra_bytes;
  of(bytes, Keep::rotary_copies) = kernels.has(FusedKernel::rope) ? 0.0 : rules.rotary_extra_bytes;
  of(bytes, Keep::unfused_attention) = unfused ? shape.element : 0.0;
  of(bytes, Keep::scores) = unfused ? score_bytes(shape) : 0.0;
  of(bytes, Keep::softmax) = unfused ? 0.0 : statistics_bytes;
  of(bytes, Keep::flash_copy) =
      !unfused && rules.flash_output_copy && before_hopper ? shape.element : 0.0;
  of(bytes, Keep::attention_output) = attention_output_bytes(shape);
  of(bytes, Keep::router) = router_bytes;
  of(bytes, Keep::router_fp32) = job.training.router_fp32 ? statistics_bytes : 0.0;
  of(bytes, Keep::dropout_mask) = job.training.hidden_dropout > 0.0 ? 1.0 : 0.0;
  of(bytes, Keep::expert_result) = permutes_fused(job) ? 0.0 : shape.element;
  add_logit_bytes(job, bytes);
  return bytes;
}

/// Tokens of the busiest expert rank over the mean as it is stated, or by the stack's rule: falls
/// with the number of choices that a rank's share averages over.
double stated_imbalance(const Job& job) {
  if (job.training.moe_imbalance > 0.0) return job.training.moe_imbalance;
  if (job.parallel.expert == 1) return 1.0;
  const MoeShape& moe = *job.model.moe;
  const double choices = static_cast<double>(moe.experts) / job.parallel.expert * moe.top_k;
  return 1.0 + job.stack.memory.expert_imbalance / std::sqrt(choices);
}

/// What becomes of the tensors that a form of layer saves.
FormActivations read_saved(const LayerDescription& description, const LayerType& type,
                           const Job& job, const RowCounts& rows, const KeepBytes& bytes) {
  const Recompute& recompute = job.memory.recompute;
  const bool selective = recompute.kind == RecomputeKind::selective;
  const bool every_second = selective && recompute.every_second_matmul;
  const LayerModules& away = job.memory.activation_offload;
  const auto chosen = [](const LayerModules& modules, LayerModule module) {
    return module != nullptr && modules.*module;
  };
  FormActivations layer;
  for (const SavedTensor& tensor : description.saved()) {
    const double row = bytes[static_cast<std::size_t>(tensor.keep)] * rows.of(tensor.rows);
    layer.whole.*tensor.row += row * tensor.width;
    double width = tensor.width;
    if (every_second)
      width = tensor.every_second;
    else if (selective && (chosen(recompute.modules, tensor.remade) ||
                           chosen(recompute.modules, tensor.remade_too)))
      width = 0.0;
    const bool graphed = saved_in_graph(job.training.cuda_graphs, type, tensor.row);
    const bool moved = chosen(away, tensor.offloaded);
    (moved ? layer.offloaded : layer.kept.*tensor.row) += row * width;
    if (graphed && !moved) layer.graphed += row * width;
  }
  return layer;
}

EndActivations read_saved(const EndDescription& end, const RowCounts& rows,
                          const KeepBytes& bytes) {
  EndActivations kept;
  for (const EndTensor& tensor : end.saved())
    kept.*tensor.row +=
        bytes[static_cast<std::size_t>(tensor.keep)] * rows.of(tensor.rows) * tensor.width;
  return kept;
}

void add_ends(const Shape& shape, const RowCounts& rows, const KeepBytes& bytes,
              ActivationModel& model) {
  const Job& job = shape.job;
  const ModelEnds ends{job};
  model.parameters.ends = rank_ends(ends);
  model.trained.ends = rank_ends(ends, Counted::trained);
  model.parameters.ends.tower = rank_tower(job);
  model.trained.ends.tower = rank_tower(job, Counted::trained);
  if (job.has_tower()) model.tower = tower_activations(job);
  model.trained.skipped = job.fine_tuning.frozen_layers;
  model.embedding = read_saved(ends.embedding, rows, bytes);
  model.output = read_saved(ends.output, rows, bytes);
  model.prediction = read_saved(ends.prediction, rows, bytes);
  for (const LayerOperator& op : ends.output.operators())
    if (op.is_product() && !op.frozen) model.output_weight_gradient += shape.element * op.weights();
  if (job.memory.attention_mask) {
    const double sequence = job.training.sequence;
    model.mask = job.training.micro_batch * sequence * sequence / job.parallel.context;
  }
}

/// What every form is read with.
struct SavedSizes {
  const LayerCut& cut;
  const RowCounts& rows;
  const KeepBytes& bytes;
};

/// Beside what one layer saved, what its backward pass has at once.
double transient_bytes(const Shape& shape, const LayerType& type, const LayerActivations& whole) {
  const Job& job = shape.job;
  double inputs = whole.mlp_input + whole.mlp_output + whole.mixer_input + whole.mixer_states;
  if (type.kind == LayerKind::moe) inputs = whole.expert_input + whole.expert_output + inputs;
  const double stream = 2.0 * shape.element * shape.residual;
  const double passing = job.stack.memory.transient_share * (inputs + stream);
  // Unfused attention: gradients of the softmax and of its input exist together.
  const bool scores =
      job.memory.attention == AttentionKind::unfused && type.mixer == MixerKind::attention;
  return scores ? std::max(2.0 * shape.element * shape.tokens.scores, passing) : passing;
}

/// Of experts' weights that adapters were added to: the gradient of the sum and the same, scaled.
double merged_transient(const Shape& shape, const LayerDescription& layer) {
  double largest = 0.0;
  for (const LayerOperator& op : layer.operators())
    if (op.work == LayerWork::adapter_merge) largest = std::max(largest, op.weights());
  return 2.0 * shape.element * largest;
}

/// Keys and values of all context ranks, gathered before attention and again before its backward
/// pass. Transformer Engine sums their gradients over the whole sequence before it scatters them
/// (`context_parallel.py`, `AttnFuncWithCPAndKVAllGather`); PyTorch sends those of a block at a
/// time (`_context_parallel/_attention.py`, `_AllGatherRotater`).
double keys_of_all_ranks(const Shape& shape, const LayerDescription& layer) {
  const Job& job = shape.job;
  const HeadShape& heads = layer.heads;
  const bool whole = heads.gathered == 0.0 && heads.borrowed == 0.0;
  if (job.communication.context_exchange != ContextExchange::all_gather || !whole) return 0.0;
  const double copies = job.stack.eager_torch ? 1.0 : 2.0;
  const double ranks = job.parallel.context;
  if (ranks == 1.0) return 0.0;
  return copies * shape.element * ranks * shape.tokens.all * (heads.key + heads.value);
}

void add_form(const Shape& shape, const LayerType& type, const SavedSizes& sizes,
              ActivationModel& model) {
  LayerDescription layer{shape.job};
  describe_layer(shape.job.model, type, sizes.cut, layer);
  const std::size_t form = form_index(type);
  model.parameters.forms[form] = rank_layer(layer.operators());
  model.trained.forms[form] = rank_layer(layer.operators(), Counted::trained);
  for (const LayerOperator& op : layer.operators())
    if (op.work == LayerWork::product)
      model.largest_matrix = std::max(model.largest_matrix, op.out * op.in);
  model.distinct.add(layer, form);
  FormActivations& saved = model.forms[form];
  saved = read_saved(layer, type, shape.job, sizes.rows, sizes.bytes);
  saved.transient = transient_bytes(shape, type, saved.whole) + merged_transient(shape, layer) +
                    keys_of_all_ranks(shape, layer);
}

}  // namespace

ExpertLoad expert_load(const Job& job, int layers) {
  const Training& training = job.training;
  const double capacity = training.moe_capacity;
  if (training.moe_imbalance > 0.0 || training.moe_routing.spread == ExpertSpread::stack) {
    const double busiest = stated_imbalance(job);
    return {capacity > 0.0 ? std::min(capacity, busiest) : busiest, 1.0};
  }
  const MoeShape& moe = *job.model.moe;
  const double tokens = local_tokens(job).residual * job.parallel.expert;
  return expert_load(training.moe_routing,
                     {moe.experts, moe.top_k, job.parallel.expert, tokens, capacity, layers});
}

double LayerActivations::total() const {
  return attention_norm_input + attention_norm_output + mlp_norm_input + mlp_norm_output +
         norm_statistics + qkv + scores + attention_output + dropout_masks + mlp_input +
         mlp_output + mixer_input + mixer_states + dispatch + expert_tokens + expert_input +
         expert_output + expert_combined + merged_weights;
}

bool ActivationModel::offloads() const {
  return std::ranges::any_of(forms,
                             [](const FormActivations& layer) { return layer.offloaded > 0.0; });
}

namespace {

LocalTokens local_tokens(const Job& job, double sequence) {
  const Parallel& parallel = job.parallel;
  LocalTokens tokens;
  tokens.all = job.training.micro_batch * sequence / parallel.context;
  tokens.split = tokens.all / parallel.tensor;
  tokens.residual = parallel.sequence ? tokens.split : tokens.all;
  tokens.scores = tokens.all * sequence * job.model.heads / parallel.tensor;
  return tokens;
}

}  // namespace

LocalTokens local_tokens(const Job& job) { return local_tokens(job, job.training.sequence); }

namespace {

/// Layers with experts on a stage, of which one rank has the busiest experts of some alone.
int expert_layers_of_stage(const Job& job) {
  return std::max(1, job.model.moe_layers() / job.parallel.pipeline);
}

RowCounts row_counts(const Job& job, double sequence, int layers) {
  const LocalTokens tokens = local_tokens(job, sequence);
  RowCounts rows;
  rows.of(RowKind::tokens) = tokens.all;
  rows.of(RowKind::residual) = tokens.residual;
  rows.of(RowKind::keys) = tokens.all * sequence;
  rows.of(RowKind::once) = 1.0;
  rows.of(RowKind::turned) = job.training.micro_batch > 1 ? tokens.all : 0.0;
  if (!job.model.moe) return rows;
  const MoeShape& moe = *job.model.moe;
  rows.routed = tokens.residual * moe.computing();
  const double received = rows.routed * expert_load(job, layers).busiest;
  const double gathered = received * job.parallel.expert_tensor_size();
  rows.of(RowKind::received) = received;
  rows.of(RowKind::expert) = gathered;
  // What the experts' tensor ranks gather is sorted by expert once more, where a rank has several.
  const bool several = moe.experts > job.parallel.expert;
  rows.of(RowKind::permuted) = rows.routed + (several ? (gathered - received) / 2.0 : 0.0);
  return rows;
}

}  // namespace

RowCounts row_counts(const Job& job) {
  return row_counts(job, job.training.sequence, job.model.moe ? expert_layers_of_stage(job) : 1);
}

RowCounts row_counts(const Job& job, double sequence) { return row_counts(job, sequence, 1); }

ActivationModel activation_model(const Job& job) {
  const Shape shape = shape_of(job);
  const RowCounts rows = row_counts(job);
  const KeepBytes bytes = keep_bytes(shape);
  ActivationModel model;
  model.tokens = shape.tokens;
  const LayerCut cut = layer_cut(job.parallel);
  const FormCounts held = held_forms(job.model);
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (held[form] > 0) add_form(shape, layer_types[form], {cut, rows, bytes}, model);
  model.layer_input = shape.element * shape.residual;
  if (job.memory.recompute.distribute_saved && !job.parallel.sequence)
    model.layer_input /= job.parallel.tensor;
  add_ends(shape, rows, bytes, model);
  return model;
}

}  // namespace foretrain
