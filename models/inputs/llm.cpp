// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/llm.hpp"

#include "models/base/require.hpp"

namespace foretrain {
bool LlmShape::is_moe_layer(int layer) const {
  FORETRAIN_REQUIRE(layer >= 0 && layer < layers);
  if (!moe || layer < moe->first_dense_layers) return false;
  // As Megatron's moe_layer_freq: the first layer of every group of `every` is the MoE one.
  return (layer - moe->first_dense_layers) % moe->every == 0;
}

int LlmShape::moe_layers() const {
  if (!moe) return 0;
  const int candidates = layers - moe->first_dense_layers;
  return candidates <= 0 ? 0 : (candidates + moe->every - 1) / moe->every;
}

bool LlmShape::is_windowed_layer(int layer, int sequence) const {
  FORETRAIN_REQUIRE(layer >= 0 && layer < layers);
  if (!windows_cut(sequence)) return false;
  // As Megatron's window_attn_skip_freq: every Nth layer skips the window.
  return full_attention_every == 0 || (layer + 1) % full_attention_every != 0;
}

int padded_vocabulary(int vocabulary, int multiple) {
  FORETRAIN_REQUIRE(vocabulary >= 1 && multiple >= 1);
  return (vocabulary + multiple - 1) / multiple * multiple;
}

}  // namespace foretrain
