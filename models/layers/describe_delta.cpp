// SPDX-License-Identifier: Apache-2.0
// Gated delta net mixers (arXiv 2412.06464) as Qwen3-Next has them, by the chunked kernels of
// flash-linear-attention (`fla/ops/gated_delta_rule/chunk.py`). models/layers/README.md,
// "State-space mixers".
#include "models/base/require.hpp"
#include "models/layers/internal/describe_scan.hpp"

namespace foretrain {
namespace {

using layer_detail::describe_scan;

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

void describe_delta(const LlmShape& model, const LayerCut& cut, LayerDescription& layer) {
  FORETRAIN_REQUIRE(model.delta.has_value());
  const DeltaShape& shape = *model.delta;
  const double heads = shape.value_heads / cut.tensor;
  const double keys = shape.keys() / cut.tensor;
  const double values = shape.values() / cut.tensor;
  const double channels = 2.0 * keys + values;
  // With the gate, and a decay and a write strength for each head.
  layer_detail::describe_mixer_input(
      model, {channels + values + 2.0 * heads, 0.0, 2.0 * heads, 2.0 * heads}, layer);
  layer_detail::describe_convolution(channels, channels * shape.conv_kernel, layer);
  add_scan(shape, heads, layer);
  layer_detail::describe_gated_norm(values, shape.value_head_dim, layer);
  layer_detail::describe_mixer_output(model, values, 0.0, layer);
}

}  // namespace foretrain
