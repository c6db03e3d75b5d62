// SPDX-License-Identifier: Apache-2.0
#include "models/layers/flops.hpp"

#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Weights of the attention matrices: what every token is multiplied with.
double attention_matrix_weights(const LlmShape& shape) {
  LlmShape bare = shape;  // biases and norms are not matrix multiplications
  bare.qkv_bias = bare.attention_output_bias = bare.qk_norm = false;
  auto weights = static_cast<double>(layer_parameters(bare, false).attention);
  if (shape.mla) weights -= shape.mla->q_lora_rank + shape.mla->kv_lora_rank;  // their norms
  return weights;
}

double mlp_matrix_weights(const LlmShape& shape, int width) {
  return (shape.gated_mlp ? 3.0 : 2.0) * shape.hidden * width;
}

/// FLOPs of one token attending to one other: queries times keys plus weights times values.
double score_flops(const LlmShape& shape) {
  const int width =
      shape.mla ? shape.mla->qk_nope_head_dim + shape.mla->qk_rope_head_dim + shape.mla->v_head_dim
                : 2 * shape.head_dim;
  return 2.0 * shape.heads * width;
}

ForwardFlops operator+(ForwardFlops sum, const ForwardFlops& term) {
  sum.attention_projections += term.attention_projections;
  sum.attention_scores += term.attention_scores;
  sum.dense_mlp += term.dense_mlp;
  sum.experts += term.experts;
  sum.router += term.router;
  sum.head += term.head;
  sum.mtp += term.mtp;
  return sum;
}

ForwardFlops operator*(double factor, ForwardFlops flops) {
  flops.attention_projections *= factor;
  flops.attention_scores *= factor;
  flops.dense_mlp *= factor;
  flops.experts *= factor;
  flops.router *= factor;
  flops.head *= factor;
  flops.mtp *= factor;
  return flops;
}

/// Forward FLOPs of the multi-token-prediction modules: what is recomputed with the layers, and
/// their heads, which are not.
struct MtpFlops {
  Flop layers;
  Flop scores;  ///< part of `layers`
  Flop heads;
};

MtpFlops mtp_forward(const LlmShape& shape, int sequence, int vocabulary,
                     AttentionFlops attention) {
  MtpFlops result;
  if (shape.mtp_layers == 0) return result;
  const ForwardFlops layer = layer_forward_flops(shape, sequence, shape.moe.has_value(), attention);
  const double tokens = sequence;
  const Flop projection{2.0 * tokens * 2.0 * shape.hidden * shape.hidden};
  result.layers = shape.mtp_layers * (layer.total() + projection);
  result.scores = shape.mtp_layers * layer.attention_scores;
  result.heads = Flop{shape.mtp_layers * 2.0 * tokens * shape.hidden * vocabulary};
  return result;
}

}  // namespace

ForwardFlops layer_forward_flops(const LlmShape& shape, int sequence, bool moe_layer,
                                 AttentionFlops attention) {
  FORETRAIN_REQUIRE(sequence >= 1 && (!moe_layer || shape.moe.has_value()));
  const double tokens = sequence;
  ForwardFlops flops;
  flops.attention_projections = Flop{2.0 * tokens * attention_matrix_weights(shape)};
  flops.attention_scores = Flop{tokens * tokens * score_flops(shape)};
  if (attention == AttentionFlops::causal) flops.attention_scores /= 2.0;
  if (!moe_layer) {
    flops.dense_mlp = Flop{2.0 * tokens * mlp_matrix_weights(shape, shape.ffn_hidden)};
    return flops;
  }
  const MoeShape& moe = *shape.moe;
  const double gate = moe.shared_gate ? shape.hidden : 0.0;
  flops.dense_mlp = Flop{2.0 * tokens * (mlp_matrix_weights(shape, moe.shared_ffn_hidden) + gate)};
  flops.experts = Flop{2.0 * tokens * moe.top_k * mlp_matrix_weights(shape, moe.expert_ffn_hidden)};
  flops.router = Flop{2.0 * tokens * shape.hidden * moe.experts};
  return flops;
}

FlopsPerSequence flops_per_sequence(const LlmShape& shape, int sequence, int vocabulary,
                                    RecomputeKind recompute, AttentionFlops attention) {
  FORETRAIN_REQUIRE(sequence >= 1 && vocabulary >= 1);
  const int moe_layers = shape.moe_layers();
  FlopsPerSequence result;
  if (moe_layers < shape.layers)
    result.forward = static_cast<double>(shape.layers - moe_layers) *
                     layer_forward_flops(shape, sequence, false, attention);
  if (moe_layers > 0)
    result.forward = result.forward + static_cast<double>(moe_layers) *
                                          layer_forward_flops(shape, sequence, true, attention);
  const MtpFlops mtp = mtp_forward(shape, sequence, vocabulary, attention);
  const Flop layers = result.forward.total() + mtp.layers;
  const Flop scores = result.forward.attention_scores + mtp.scores;
  result.forward.mtp = mtp.layers + mtp.heads;
  result.forward.head = Flop{2.0 * sequence * static_cast<double>(shape.hidden) * vocabulary};

  if (recompute == RecomputeKind::selective) result.recompute = scores;
  if (recompute == RecomputeKind::full) result.recompute = layers;
  result.model = 3.0 * result.forward.total();
  result.hardware = result.model + result.recompute;
  return result;
}

FlopsPerSequence flops_per_step(const FlopsPerSequence& one, int global_batch) {
  FORETRAIN_REQUIRE(global_batch >= 1);
  const double sequences = global_batch;
  return {sequences * one.forward, sequences * one.recompute, sequences * one.model,
          sequences * one.hardware};
}

}  // namespace foretrain
