// SPDX-License-Identifier: Apache-2.0
#include "models/layers/activations.hpp"

#include <algorithm>
#include <cmath>

namespace foretrain {
namespace {

constexpr double statistics_bytes = 4.0;          // norms and softmax keep statistics in fp32
constexpr double router_bytes_per_expert = 10.0;  // logits, probabilities, map and their gradients

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
  const bool narrow = job.training.precision == Precision::fp8 && job.stack.memory.fp8_saves_inputs;
  shape.gemm_input = narrow ? 1.0 : shape.element;
  shape.residual = shape.tokens.residual * job.model.hidden;
  return shape;
}

double key_value_heads_per_rank(const Job& job) {
  return std::max(1.0, static_cast<double>(job.model.kv_heads) / job.parallel.tensor);
}

double heads_per_rank(const Job& job) {
  return static_cast<double>(job.model.heads) / job.parallel.tensor;
}

void add_norms(const Shape& shape, LayerActivations& layer) {
  const LlmShape& model = shape.job.model;
  const double pairs = model.norms_per_layer / 2.0;
  layer.attention_norm_input = pairs * shape.element * shape.residual;
  layer.attention_norm_output = pairs * shape.gemm_input * shape.residual;
  layer.mlp_norm_input = layer.attention_norm_input;
  layer.mlp_norm_output = layer.attention_norm_output;
  const double vectors = model.norm == NormKind::layernorm ? 2.0 : 1.0;
  layer.norm_statistics =
      model.norms_per_layer * vectors * statistics_bytes * shape.tokens.residual;
  if (model.norm == NormKind::rmsnorm && !shape.job.memory.fused_norm)
    layer.norm_statistics += shape.job.stack.memory.norm_extra_bytes * shape.residual;
}

/// Queries, keys and values as the attention keeps them.
double qkv_bytes(const Shape& shape) {
  const Job& job = shape.job;
  const LlmShape& model = job.model;
  const double heads = heads_per_rank(job);
  const double tokens = shape.tokens.all;
  if (model.mla) {
    const MlaShape& mla = *model.mla;
    const double query = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    const double value = heads * mla.v_head_dim;
    double size = shape.element * tokens * (2.0 * query + value);
    if (job.memory.attention == AttentionKind::unfused)
      size += shape.element * tokens * heads * (mla.qk_nope_head_dim + mla.v_head_dim);
    return size;
  }
  const double groups = key_value_heads_per_rank(job);
  double size = shape.element * tokens * (heads + 2.0 * groups) * model.head_dim;
  const double query_key = tokens * (heads + groups) * model.head_dim;
  if (model.qk_norm) size += shape.element * query_key + 4.0 * statistics_bytes * tokens * heads;
  if (model.position == PositionKind::rotary)
    size += job.stack.memory.rotary_extra_bytes * query_key;
  return size;
}

/// Latent vectors of MLA; kept even when the up-projections are recomputed.
double latent_bytes(const Shape& shape) {
  if (!shape.job.model.mla) return 0.0;
  const MlaShape& mla = *shape.job.model.mla;
  return shape.element * shape.tokens.residual *
         (mla.q_lora_rank + 2.0 * mla.kv_lora_rank + mla.qk_rope_head_dim);
}

double attention_width(const Job& job) {
  return heads_per_rank(job) * (job.model.mla ? job.model.mla->v_head_dim : job.model.head_dim);
}

double score_bytes(const Shape& shape) {
  const Job& job = shape.job;
  const MemoryRules& rules = job.stack.memory;
  if (job.memory.attention == AttentionKind::unfused) {
    double per_score =
        job.training.attention_dropout > 0.0 ? rules.score_bytes : rules.score_bytes_no_dropout;
    if (!job.memory.fused_softmax) per_score += rules.score_bytes_unfused_softmax;
    return per_score * shape.tokens.scores * shape.element / 2.0;
  }
  double size = statistics_bytes * shape.tokens.all * heads_per_rank(job);
  const bool ampere = job.cluster.host.device.architecture <= Architecture::ampere;
  if (rules.flash_output_copy && ampere)
    size += shape.element * shape.tokens.all * attention_width(job);
  return size;
}

void add_attention(const Shape& shape, LayerActivations& layer) {
  layer.qkv = qkv_bytes(shape) + latent_bytes(shape);
  layer.scores = score_bytes(shape);
  const double width = shape.tokens.all * attention_width(shape.job);
  layer.attention_output = shape.element * width;
  if (shape.gemm_input < shape.element) {
    // The projection keeps an FP8 copy; flash attention keeps its own output beside it.
    const bool flash = shape.job.memory.attention == AttentionKind::flash;
    layer.attention_output = (flash ? shape.element + shape.gemm_input : shape.gemm_input) * width;
  }
}

bool fuses_activation(const Job& job) {
  return job.stack.memory.swiglu_fused && job.memory.fused_activation;
}

/// Bytes of an element that the backward pass of the activation function starts from.
double activation_input(const Shape& shape) {
  return shape.job.memory.fp8_activation_inputs ? 1.0 : shape.element;
}

void add_mlp(const Shape& shape, double width, LayerActivations& layer) {
  const Job& job = shape.job;
  const double elements = shape.tokens.split * width;
  layer.mlp_input += activation_input(shape) * elements * (job.model.gated_mlp ? 2.0 : 1.0);
  if (job.model.gated_mlp && !fuses_activation(job)) layer.mlp_input += shape.element * elements;
  layer.mlp_output += shape.gemm_input * elements;
}

/// Tokens of the busiest expert rank over the mean, where the router is free to choose: falls with
/// the number of choices that a rank's share averages over.
double free_imbalance(const Job& job) {
  if (job.training.moe_imbalance > 0.0) return job.training.moe_imbalance;
  if (job.parallel.expert == 1) return 1.0;
  const MoeShape& moe = *job.model.moe;
  const double choices = static_cast<double>(moe.experts) / job.parallel.expert * moe.top_k;
  return 1.0 + job.stack.memory.expert_imbalance / std::sqrt(choices);
}

void add_experts(const Shape& shape, LayerActivations& layer) {
  const Job& job = shape.job;
  const MoeShape& moe = *job.model.moe;
  const double expert_tensor = job.parallel.expert_tensor_size();
  const double own_rows = shape.tokens.residual * moe.top_k * expert_imbalance(job);
  const double rows = own_rows * expert_tensor;
  const double width = rows * moe.expert_ffn_hidden / expert_tensor;
  layer.dispatch = router_bytes_per_expert * shape.tokens.residual * moe.experts +
                   (job.training.router_fp32 ? 4.0 : 0.0) * shape.residual +
                   shape.element * shape.residual;
  layer.expert_tokens = shape.gemm_input * rows * job.model.hidden;
  layer.expert_input = activation_input(shape) * width * (job.model.gated_mlp ? 2.0 : 1.0);
  if (job.model.gated_mlp && !fuses_activation(job)) layer.expert_input += shape.element * width;
  layer.expert_output = shape.gemm_input * width;
  layer.expert_combined = shape.element * own_rows * job.model.hidden;
  if (moe.shared_ffn_hidden > 0) add_mlp(shape, moe.shared_ffn_hidden, layer);
}

LayerActivations whole_layer(const Shape& shape, bool moe_layer) {
  LayerActivations layer;
  add_norms(shape, layer);
  add_attention(shape, layer);
  if (shape.job.training.hidden_dropout > 0.0) layer.dropout_masks = 2.0 * shape.residual;
  if (moe_layer)
    add_experts(shape, layer);
  else
    add_mlp(shape, shape.job.model.ffn_hidden, layer);
  return layer;
}

/// What PyTorch's operator-wise checkpointing keeps: the layer's input and the residual between its
/// halves, the attention's output with its statistics, and the results of every second matrix
/// multiplication (queries, values, gate, down projection).
LayerActivations alternate_matmuls(const Shape& shape, const LayerActivations& whole,
                                   bool moe_layer) {
  const Job& job = shape.job;
  LayerActivations kept;
  kept.attention_norm_input = whole.attention_norm_input;
  kept.mlp_norm_input = whole.mlp_norm_input;
  kept.scores = whole.scores;
  kept.attention_output = whole.attention_output;
  kept.qkv = shape.element * shape.tokens.all * job.model.head_dim *
             (heads_per_rank(job) + key_value_heads_per_rank(job));
  if (job.model.mla) kept.qkv = latent_bytes(shape) + whole.qkv / 2.0;
  if (!moe_layer) {
    kept.mlp_input = shape.element * shape.tokens.split * job.model.ffn_hidden;
    return kept;
  }
  kept.dispatch = whole.dispatch;
  kept.expert_tokens = whole.expert_tokens;
  kept.expert_input = whole.expert_input / 2.0;
  kept.expert_combined = whole.expert_combined;
  kept.mlp_input = whole.mlp_input / 2.0;
  return kept;
}

/// Drops what selective recomputation makes again in the backward pass.
LayerActivations recomputed(const Shape& shape, LayerActivations layer, bool moe_layer) {
  const Recompute& recompute = shape.job.memory.recompute;
  if (recompute.kind != RecomputeKind::selective) return layer;
  if (recompute.every_second_matmul) return alternate_matmuls(shape, layer, moe_layer);
  const LayerModules& modules = recompute.modules;
  if (modules.core_attention) layer.scores = 0.0;
  if (modules.attention_norm) layer.attention_norm_output = 0.0;
  if (modules.mlp_norm) layer.mlp_norm_output = 0.0;
  if (modules.mla_up_projection && shape.job.model.mla) layer.qkv = latent_bytes(shape);
  if (modules.activation && moe_layer) layer.expert_output = 0.0;
  if ((modules.mlp && !moe_layer) || (modules.shared_experts && moe_layer))
    layer.mlp_input = layer.mlp_output = 0.0;
  if (modules.moe && moe_layer) {
    layer.mlp_input = layer.mlp_output = layer.dispatch = layer.expert_tokens = 0.0;
    layer.expert_input = layer.expert_output = layer.expert_combined = 0.0;
  }
  return layer;
}

/// Moves offloaded tensors out of `layer`; returns their bytes.
double offload(const LayerModules& modules, LayerActivations& layer) {
  double moved = 0.0;
  const auto take = [&](bool chosen, double& size) {
    if (!chosen) return;
    moved += size;
    size = 0.0;
  };
  take(modules.attention_norm, layer.attention_norm_input);
  take(modules.qkv_linear, layer.attention_norm_output);
  take(modules.core_attention, layer.qkv);
  take(modules.core_attention, layer.scores);
  take(modules.attention_projection, layer.attention_output);
  take(modules.mlp_norm, layer.mlp_norm_input);
  take(modules.expert_fc1, layer.expert_tokens);
  take(modules.activation, layer.expert_input);
  return moved;
}

void add_ends(const Shape& shape, ActivationModel& model) {
  const Job& job = shape.job;
  const MemoryRules& rules = job.stack.memory;
  const double vocabulary = job.vocabulary();
  const double split = job.parallel.tensor;
  const double logits = shape.tokens.all * (rules.loss_split ? vocabulary / split : vocabulary);
  const double fused =
      job.memory.fused_loss_engine ? rules.loss_bytes_engine : rules.loss_bytes_fused;
  const double per_logit = job.memory.fused_loss ? fused : rules.loss_bytes;
  model.loss = per_logit * logits;
  model.loss_gradient = rules.loss_backward_bytes * logits;
  model.deferred_output = model.loss_gradient + shape.element * shape.residual;
  model.retained_loss = std::min(per_logit, statistics_bytes) * logits;
  model.output_weight_gradient = shape.element * vocabulary / split * job.model.hidden;
  if (job.training.hidden_dropout > 0.0) model.first_stage = shape.residual;
  const double token_arrays =
      4.0 * 8.0 * shape.tokens.all;  // int64 token, label, position; loss mask
  model.last_stage = 2.0 * shape.element * shape.residual + token_arrays;
  // Two norms with input and output, their concatenation, the projected input, a final norm.
  model.mtp_module = shape.element * shape.residual * (4.0 + 2.0 + 1.0 + 2.0);
  if (job.memory.attention_mask) {
    const double sequence = job.training.sequence;
    model.mask = job.training.micro_batch * sequence * sequence / job.parallel.context;
  }
}

}  // namespace

double expert_imbalance(const Job& job) {
  const double capacity = job.training.moe_capacity;
  return capacity > 0.0 ? std::min(capacity, free_imbalance(job)) : free_imbalance(job);
}

double LayerActivations::total() const {
  return attention_norm_input + attention_norm_output + mlp_norm_input + mlp_norm_output +
         norm_statistics + qkv + scores + attention_output + dropout_masks + mlp_input +
         mlp_output + dispatch + expert_tokens + expert_input + expert_output + expert_combined;
}

void LayerActivations::add_to(MemoryBytes& rows, double times) const {
  using Item = MemoryItem;
  rows[Item::norms] += times * (attention_norm_input + attention_norm_output + mlp_norm_input +
                                mlp_norm_output + norm_statistics);
  rows[Item::qkv] += times * qkv;
  rows[Item::attention_scores] += times * scores;
  rows[Item::attention_output] += times * attention_output;
  rows[Item::dropout_masks] += times * dropout_masks;
  rows[Item::mlp] += times * (mlp_input + mlp_output);
  rows[Item::moe_dispatch] += times * (dispatch + expert_tokens + expert_combined);
  rows[Item::experts] += times * (expert_input + expert_output);
}

LocalTokens local_tokens(const Job& job) {
  const Parallel& parallel = job.parallel;
  const double sequence = job.training.sequence;
  LocalTokens tokens;
  tokens.all = job.training.micro_batch * sequence / parallel.context;
  tokens.split = tokens.all / parallel.tensor;
  tokens.residual = parallel.sequence ? tokens.split : tokens.all;
  tokens.scores = tokens.all * sequence * job.model.heads / parallel.tensor;
  return tokens;
}

ActivationModel activation_model(const Job& job) {
  const Shape shape = shape_of(job);
  ActivationModel model;
  model.tokens = shape.tokens;
  model.dense_whole = whole_layer(shape, false);
  model.dense = recomputed(shape, model.dense_whole, false);
  model.offloaded_dense = offload(job.memory.activation_offload, model.dense);
  const double share = job.stack.memory.transient_share;
  const double stream = 2.0 * shape.element * shape.residual;
  // Unfused attention: gradients of the softmax and of its input exist together.
  const double attention = job.memory.attention == AttentionKind::unfused
                               ? 2.0 * shape.element * shape.tokens.scores
                               : 0.0;
  model.dense_transient = std::max(
      attention, share * (model.dense_whole.mlp_input + model.dense_whole.mlp_output + stream));
  if (job.model.moe) {
    model.moe_whole = whole_layer(shape, true);
    model.moe = recomputed(shape, model.moe_whole, true);
    model.offloaded_moe = offload(job.memory.activation_offload, model.moe);
    model.moe_transient = std::max(
        attention, share * (model.moe_whole.expert_input + model.moe_whole.expert_output +
                            model.moe_whole.mlp_input + model.moe_whole.mlp_output + stream));
  }
  model.layer_input = shape.element * shape.residual;
  if (job.memory.recompute.distribute_saved && !job.parallel.sequence)
    model.layer_input /= job.parallel.tensor;
  add_ends(shape, model);
  return model;
}

}  // namespace foretrain
