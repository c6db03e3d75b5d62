// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/device.hpp"
#include "models/inputs/llm.hpp"
#include "models/layers/layer_description.hpp"
#include "models/serving/deployment.hpp"

namespace foretrain::serving_detail {

/// In what a product with such weights is computed: in their own precision where the device was
/// measured in it, else unpacked to bf16 on the way (weights only).
[[nodiscard]] Precision product_precision(WeightFormat format, const Deployment& deployment);

/// How an operator's weights lie in memory.
[[nodiscard]] WeightFormat operator_format(const LayerOperator& op, const ServingPrecision& bits);

/// What the ranks of a replica cut layers over.
[[nodiscard]] LayerCut serving_cut(const ServingLayout& layout);

/// Layers of every type that the longest stage holds over those of the model.
[[nodiscard]] int longest_stage(const LlmShape& model, int pipeline);

/// Whether a mixer keeps something of a sequence whatever its length.
[[nodiscard]] constexpr bool has_state(MixerKind mixer) {
  return mixer != MixerKind::attention && mixer != MixerKind::none;
}

/// What a sequence keeps in a layer with such a mixer on one of `tensor` ranks, whatever its
/// length: the state in 32 bits and the last inputs of the convolution in 16.
/// @pre the model has such mixers
[[nodiscard]] double state_bytes(const LlmShape& model, MixerKind mixer, double tensor);

/// What a token keeps for the indexer of sparse attention: a key in 8 bits with its scale.
/// @pre the model has one
[[nodiscard]] inline double index_key_bytes(const LlmShape& model) {
  return model.indexer->head_dim + 4.0;
}

}  // namespace foretrain::serving_detail
