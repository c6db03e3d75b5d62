// SPDX-License-Identifier: Apache-2.0
#include "models/layers/parameters.hpp"

namespace foretrain {
namespace {

/// Products of layer widths pass 2^31 long before any model does.
constexpr std::int64_t wide(int value) { return static_cast<std::int64_t>(value); }

std::int64_t norm_width(const LlmShape& shape) {
  return wide(shape.hidden) * (shape.norm_bias ? 2 : 1);
}

std::int64_t& part_of(LayerParameters& count, LayerPart part) {
  switch (part) {
    case LayerPart::attention:
      return count.attention;
    case LayerPart::mlp:
      return count.dense_mlp;
    case LayerPart::router:
      return count.router;
    case LayerPart::experts:
      return count.routed_experts;
    case LayerPart::norm:
      break;
  }
  return count.norms;
}

/// All layers, with `experts` routed experts counted in each MoE layer.
std::int64_t all_layers(const LlmShape& shape, int experts) {
  const int moe_layers = shape.moe_layers();
  std::int64_t count = 0;
  if (moe_layers < shape.layers)
    count += (shape.layers - moe_layers) * layer_parameters(shape, LayerKind::dense).total();
  if (moe_layers > 0) {
    const LayerParameters layer = layer_parameters(shape, LayerKind::moe);
    const std::int64_t routed = layer.routed_experts / shape.moe->experts * experts;
    count += moe_layers * (layer.total() - layer.routed_experts + routed);
  }
  return count;
}

}  // namespace

LayerParameters layer_parameters(const LlmShape& shape, LayerKind kind) {
  LayerParameters count;
  LayerDescription layer{false};
  describe_layer(shape, {kind}, {}, layer);
  for (const LayerOperator& op : layer.operators()) {
    const double matrices = op.is_product() ? op.weights() : 0.0;
    // Whole numbers, far below what a double holds exactly.
    part_of(count, op.part) += static_cast<std::int64_t>(matrices + op.vectors + op.buffers);
  }
  return count;
}

std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary) {
  std::int64_t count = wide(vocabulary) * shape.hidden;
  if (shape.position == PositionKind::learned) count += wide(shape.positions) * shape.hidden;
  if (shape.embedding_norm) count += norm_width(shape);
  return count;
}

std::int64_t head_parameters(const LlmShape& shape, int vocabulary) {
  return (shape.tied_embeddings ? 0 : wide(vocabulary) * shape.hidden) + norm_width(shape);
}

std::int64_t mtp_parameters(const LlmShape& shape) {
  if (shape.mtp_layers == 0) return 0;
  const LayerKind kind = shape.moe ? LayerKind::moe : LayerKind::dense;
  const std::int64_t module = layer_parameters(shape, kind).total() +
                              2 * wide(shape.hidden) * shape.hidden + 3 * norm_width(shape);
  return shape.mtp_layers * module;
}

std::int64_t parameters(const LlmShape& shape) {
  return embedding_parameters(shape, shape.vocabulary) +
         all_layers(shape, shape.moe ? shape.moe->experts : 0) +
         head_parameters(shape, shape.vocabulary);
}

std::int64_t active_parameters(const LlmShape& shape) {
  return embedding_parameters(shape, shape.vocabulary) +
         all_layers(shape, shape.moe ? shape.moe->top_k : 0) +
         head_parameters(shape, shape.vocabulary);
}

}  // namespace foretrain
