// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/llm.hpp"

namespace foretrain::serving_detail {

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
