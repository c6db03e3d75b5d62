// SPDX-License-Identifier: Apache-2.0
#include "models/layers/flops.hpp"

#include "models/base/require.hpp"
#include "models/layers/model_ends.hpp"
#include "models/layers/sliding_window.hpp"

namespace foretrain {
namespace {

ForwardFlops operator+(ForwardFlops sum, const ForwardFlops& term) {
  sum.attention_projections += term.attention_projections;
  sum.attention_scores += term.attention_scores;
  sum.scans += term.scans;
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
  flops.scans *= factor;
  flops.dense_mlp *= factor;
  flops.experts *= factor;
  flops.router *= factor;
  flops.head *= factor;
  flops.mtp *= factor;
  return flops;
}

/// Forward FLOPs of an end's products over `tokens`.
Flop end_flops(const EndDescription& end, double tokens) {
  double weights = 0.0;
  for (const LayerOperator& op : end.operators())
    if (op.is_product()) weights += op.weights();
  return Flop{2.0 * tokens * weights};
}

Flop head_flops(const LlmShape& shape, int vocabulary, double tokens) {
  EndDescription output{false};
  describe_output(shape, {vocabulary}, output);
  return end_flops(output, tokens);
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
  const ForwardFlops layer =
      layer_forward_flops(shape, sequence, {prediction_layer(shape)}, attention);
  EndDescription prediction{false};
  describe_prediction(shape, {vocabulary}, prediction);
  result.layers = shape.mtp_layers * (layer.total() + end_flops(prediction, sequence));
  result.scores = shape.mtp_layers * layer.attention_scores;
  result.heads = shape.mtp_layers * head_flops(shape, vocabulary, sequence);
  return result;
}

}  // namespace

ForwardFlops layer_forward_flops(const LlmShape& shape, int sequence, const LayerType& type,
                                 AttentionFlops attention) {
  FORETRAIN_REQUIRE(sequence >= 1);
  LayerDescription layer{false};
  describe_layer(shape, type, {}, layer);
  double scanned = 0.0, attention_weights = 0.0, mlp_weights = 0.0, expert_weights = 0.0,
         router_weights = 0.0;
  for (const LayerOperator& op : layer.operators()) {
    scanned += op.scanned.forward * (op.rows == RowKind::keys ? sequence : 1.0);
    if (!op.is_product()) continue;
    if (op.part == LayerPart::attention) attention_weights += op.weights();
    if (op.part == LayerPart::mlp) mlp_weights += op.weights();
    if (op.part == LayerPart::router) router_weights += op.weights();
    if (op.part == LayerPart::experts) expert_weights += op.out * op.in;  // of one
  }
  const double tokens = sequence;
  const HeadShape& heads = layer.heads;
  ForwardFlops flops;
  flops.attention_projections = Flop{2.0 * tokens * attention_weights};
  flops.attention_scores = Flop{tokens * attended_keys(tokens, heads) *
                                (2.0 * heads.heads * (heads.head_dim + heads.value_dim))};
  if (attention == AttentionFlops::causal) flops.attention_scores /= 2.0;
  flops.scans = Flop{tokens * scanned};
  flops.dense_mlp = Flop{2.0 * tokens * mlp_weights};
  if (type.kind == LayerKind::moe)
    flops.experts = Flop{2.0 * tokens * shape.moe->computing() * expert_weights};
  flops.router = Flop{2.0 * tokens * router_weights};
  return flops;
}

FlopsPerSequence flops_per_sequence(const LlmShape& shape, int sequence, int vocabulary,
                                    RecomputeKind recompute, AttentionFlops attention) {
  FORETRAIN_REQUIRE(sequence >= 1 && vocabulary >= 1);
  FlopsPerSequence result;
  const LayerCounts counts = layer_counts(shape, sequence);
  for (const LayerType& type : layer_types) {
    const int count = counts[type_index(type)];
    if (count > 0)
      result.forward = result.forward + static_cast<double>(count) *
                                            layer_forward_flops(shape, sequence, type, attention);
  }
  const MtpFlops mtp = mtp_forward(shape, sequence, vocabulary, attention);
  const Flop layers = result.forward.total() + mtp.layers;
  const Flop scores = result.forward.attention_scores + mtp.scores;
  result.forward.mtp = mtp.layers + mtp.heads;
  EndDescription embedding{false};
  describe_embedding(shape, {vocabulary}, embedding);
  result.forward.head = head_flops(shape, vocabulary, sequence) + end_flops(embedding, sequence);

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
