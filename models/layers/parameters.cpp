// SPDX-License-Identifier: Apache-2.0
#include "models/layers/parameters.hpp"

#include "models/layers/model_ends.hpp"

namespace foretrain {
namespace {

/// What an end of the model holds.
std::int64_t end_parameters(const EndDescription& end) {
  double count = 0.0;  // whole numbers, far below what a double holds exactly
  for (const LayerOperator& op : end.operators())
    count += op.vectors + (op.has_weights() && !op.tied ? op.weights() : 0.0);
  return static_cast<std::int64_t>(count);
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
    case LayerPart::ends:
      break;
  }
  return count.norms;
}

/// All layers, with `experts` routed experts counted in each MoE layer.
std::int64_t all_layers(const LlmShape& shape, int experts) {
  const FormCounts forms = shape.form_counts(0, shape.layers);
  std::int64_t count = 0;
  for (std::size_t form = 0; form < layer_forms; ++form) {
    if (forms[form] == 0) continue;
    const LayerParameters layer = layer_parameters(shape, layer_types[form]);
    const bool moe = layer_types[form].kind == LayerKind::moe;
    const std::int64_t routed = moe ? layer.routed_experts / shape.moe->experts * experts : 0;
    count += forms[form] * (layer.total() - layer.routed_experts + routed);
  }
  return count;
}

}  // namespace

LayerParameters layer_parameters(const LlmShape& shape, LayerKind kind) {
  return layer_parameters(shape, LayerType{kind});
}

LayerParameters layer_parameters(const LlmShape& shape, const LayerType& type) {
  LayerParameters count;
  LayerDescription layer{false};
  describe_layer(shape, type, {}, layer);
  for (const LayerOperator& op : layer.operators()) {
    const double matrices = op.is_product() ? op.weights() : 0.0;
    // Whole numbers, far below what a double holds exactly.
    part_of(count, op.part) += static_cast<std::int64_t>(matrices + op.vectors + op.buffers);
  }
  return count;
}

std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary) {
  EndDescription end{false};
  describe_embedding(shape, {vocabulary}, end);
  return end_parameters(end);
}

std::int64_t head_parameters(const LlmShape& shape, int vocabulary) {
  EndDescription end{false};
  describe_output(shape, {vocabulary}, end);
  return end_parameters(end);
}

std::int64_t mtp_parameters(const LlmShape& shape) {
  if (shape.mtp_layers == 0) return 0;
  EndDescription end{false};
  describe_prediction(shape, {}, end);
  const std::int64_t layer = layer_parameters(shape, prediction_layer(shape)).total();
  return shape.mtp_layers * (layer + end_parameters(end));
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
