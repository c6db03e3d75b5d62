// SPDX-License-Identifier: Apache-2.0
// Mixers whose state is a matrix of keys by values: gated delta nets (arXiv 2412.06464) as
// Qwen3-Next has them, by the chunked kernels of flash-linear-attention
// (`fla/ops/gated_delta_rule/chunk.py`), Kimi delta attention (`fla/ops/kda/chunk.py`) and
// lightning attention (`fla/ops/lightning_attn/chunk.py`). models/layers/README.md,
// "State-space mixers".
#include "models/base/require.hpp"
#include "models/layers/internal/describe_scan.hpp"

namespace foretrain {
namespace {

using layer_detail::describe_scan;

/// Lightning attention erases nothing: scores within a chunk, states between chunks.
void add_plain_scan(const DeltaShape& shape, double heads, LayerDescription& layer) {
  const double key = shape.key_head_dim;
  const double value = shape.value_head_dim;
  const double chunk = shape.chunk;
  const double state = key * value;
  const double states = heads * 4.0 * state / chunk;  // fp32
  const double rows = heads * 2.0 * (2.0 * key + value);
  describe_scan("state passing", {heads * 2.0 * state, heads * 6.0 * state},
                {heads * 2.0 * (key + value) + states, 2.0 * rows + 2.0 * states}, layer);
  // Causal half of the scores of a chunk, and of their products with values.
  describe_scan("chunk scan",
                {heads * (chunk * (key + value) + 2.0 * state),
                 heads * (3.0 * chunk * (key + value) + 4.0 * state)},
                {rows + heads * 2.0 * value + states, 3.0 * rows + states}, layer);
}

/// Per token and value head: K key and V value dimensions, C tokens of a chunk.
void add_scan(const DeltaShape& shape, double heads, LayerDescription& layer) {
  const double key = shape.key_head_dim;
  const double value = shape.value_head_dim;
  const double chunk = shape.chunk;
  const auto flops = [&](double keys, double values, double states) {
    return heads * (2.0 * chunk * (keys * key + values * value) + states * key * value);
  };
  const auto bytes = [&](double keys, double values, double chunks, double states) {
    return heads * (keys * key + values * value + chunks * chunk + states * key * value / chunk);
  };
  // Queries and keys, repeated for the value heads that share them.
  describe_scan("query and key norms", {}, {bytes(8, 0, 0, 0), bytes(12, 0, 0, 0)}, layer, 4.0);
  // Keys times keys with decays; the inverse of its triangle.
  const double inverse = heads * (2.0 / 3.0) * chunk * chunk;
  describe_scan("chunk keys", {flops(1, 0, 0) + inverse, flops(2, 0, 0) + 2.0 * inverse},
                {bytes(2, 0, 10, 0), bytes(4, 0, 4, 0)}, layer, 3.0);
  // What the inverse makes of keys and values; backward once more, then gradients of both.
  describe_scan("chunk transform", {flops(1, 1, 0), flops(3, 3, 0)},
                {bytes(4, 4, 2, 0), bytes(12, 12, 6, 0)}, layer);
  // States of all chunks one after another; backward once more, then their gradients.
  describe_scan("state passing", {flops(0, 0, 4), flops(1, 1, 10)},
                {bytes(4, 4, 0, 2), bytes(14, 12, 0, 4)}, layer);
  describe_scan("chunk scan", {flops(1, 1, 2), flops(2, 1, 6)},
                {bytes(4, 4, 0, 2), bytes(24, 6, 0, 4)}, layer);
}

}  // namespace

namespace {

/// What a mixer projects to and holds beside queries, keys and values, on one rank.
struct DeltaParts {
  double gates = 0.0;    ///< columns: output gate, write strengths, decays
  double apart = 0.0;    ///< of those, columns that Hugging Face projects to apart
  double vectors = 0.0;  ///< parameters of decays
  double down = 0.0;     ///< columns of low-rank gates, whole on every rank
  double up = 0.0;       ///< what those become, cut
};

DeltaParts parts_of(const DeltaShape& shape, double tensor) {
  const double heads = shape.value_heads / tensor;
  const double keys = shape.keys() / tensor;
  const double values = shape.values() / tensor;
  switch (shape.kind) {
    case DeltaKind::lightning:
      return {.gates = values};
    case DeltaKind::kimi_delta: {
      const double full = shape.full_rank_gate ? values : 0.0;
      const double ranked = shape.full_rank_gate ? 0.0 : values;
      const double rank = shape.value_head_dim;
      return {.gates = full + heads,
              .apart = full + heads,
              .vectors = heads + keys + ranked,  // the low-rank gate has a bias
              .down = (ranked > 0.0 ? 2.0 : 1.0) * rank,
              .up = keys + ranked};
    }
    case DeltaKind::gated_delta:
      break;
  }
  return {.gates = values + 2.0 * heads, .apart = 2.0 * heads, .vectors = 2.0 * heads};
}

/// Decays of channels, and the output gate, from a vector of a head's width.
void add_ranked_gates(const LlmShape& model, const DeltaParts& parts, LayerDescription& layer) {
  if (parts.down == 0.0) return;
  const auto product = [&](std::string_view name, double out, double in) {
    layer.add({.name = name, .work = LayerWork::product, .out = out, .in = in});
    layer.save({.row = &LayerActivations::mixer_input, .width = out, .every_second = out});
  };
  product("gate down projection", parts.down, model.hidden);
  product("gate up projection", parts.up, model.delta->value_head_dim);
}

}  // namespace

void describe_delta(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.delta.has_value());
  const DeltaShape& shape = *model.delta;
  const double heads = shape.value_heads / cut.tensor;
  const double values = shape.values() / cut.tensor;
  const double channels = 2.0 * shape.keys() / cut.tensor + values;
  const DeltaParts parts = parts_of(shape, cut.tensor);
  layer_detail::describe_mixer_input(
      model, {channels + parts.gates, 0.0, parts.vectors, parts.apart}, layer);
  add_ranked_gates(model, parts, layer);
  const bool lightning = shape.kind == DeltaKind::lightning;
  if (lightning) {
    add_plain_scan(shape, heads, layer);
  } else {
    layer_detail::describe_convolution(channels, channels * shape.conv_kernel, layer);
    add_scan(shape, heads, layer);
  }
  layer_detail::describe_gated_norm(values, lightning ? values : shape.value_head_dim, layer);
  layer_detail::describe_mixer_output(model, values, 0.0, layer);
}

}  // namespace foretrain
