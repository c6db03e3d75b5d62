// SPDX-License-Identifier: Apache-2.0
#include "models/inputs/llm.hpp"

#include <algorithm>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

MixerKind mixer_of(char letter) {
  switch (letter) {
    case 'M':
      return MixerKind::mamba;
    case 'G':
      return MixerKind::delta;
    case 'C':
      return MixerKind::convolution;
    case '*':
      return MixerKind::attention;
    default:
      return MixerKind::none;
  }
}

LayerKind kind_of(char letter) {
  if (letter == 'E') return LayerKind::moe;
  return letter == '-' ? LayerKind::dense : LayerKind::none;
}

std::uint8_t special_of(const std::string& pattern, std::size_t layer) {
  if (pattern.empty()) return 0;
  const char letter = pattern[layer % pattern.size()];
  return letter == '.' ? std::uint8_t{0} : static_cast<std::uint8_t>(letter - 'a' + 1);
}

}  // namespace

LayerSizes LlmShape::sizes(const LayerType& type) const {
  if (type.special > 0) return special_layers[type.special - std::size_t{1}];
  LayerSizes own = static_cast<const LayerSizes&>(*this);
  if (!type.windowed) own.window = 0;
  if (indexer) own.index = IndexUse::own;
  return own;
}

double LlmShape::boundary_width() const {
  const double blocks = residual_blocks > 0 ? 0.5 * layers / residual_blocks * hidden : 0.0;
  return stream_width() + blocks + 1.0 * layers * per_layer_input;
}

int LlmShape::narrowest_window() const {
  int narrowest = window;
  for (const LayerSizes& sizes : special_layers)
    if (sizes.window > 0 && (narrowest == 0 || sizes.window < narrowest)) narrowest = sizes.window;
  return narrowest;
}

int LlmShape::widest_window() const {
  int widest = window;
  for (const LayerSizes& sizes : special_layers) widest = std::max(widest, sizes.window);
  return widest;
}

LayerType LlmShape::layer_form(int layer) const {
  FORETRAIN_REQUIRE(layer >= 0 && layer < layers);
  const auto at = static_cast<std::size_t>(layer);
  if (!layer_pattern.empty()) {
    // Files name every layer; questions after a deeper model go on from the first.
    const char letter = layer_pattern[at % layer_pattern.size()];
    return {kind_of(letter), false, mixer_of(letter)};
  }
  const LayerKind kind = is_moe_layer(layer) ? LayerKind::moe : LayerKind::dense;
  if (mixer_pattern.empty())
    return {kind, false, MixerKind::attention, special_of(special_pattern, at)};
  const MixerKind mixer = mixer_of(mixer_pattern[at % mixer_pattern.size()]);
  return {kind, false, mixer,
          mixer == MixerKind::attention ? special_of(special_pattern, at) : std::uint8_t{0}};
}

FormCounts LlmShape::form_counts(int first, int count) const {
  FormCounts counts{};
  if (is_uniform()) {
    counts[form_index({})] = count;
    return counts;
  }
  for (int layer = first; layer < first + count; ++layer) ++counts[form_index(layer_form(layer))];
  return counts;
}

bool LlmShape::has_mixer(MixerKind mixer) const {
  if (!is_hybrid()) return mixer == MixerKind::attention;
  const std::string& pattern = layer_pattern.empty() ? mixer_pattern : layer_pattern;
  return std::ranges::any_of(pattern, [&](char letter) { return mixer_of(letter) == mixer; });
}

bool LlmShape::is_moe_layer(int layer) const {
  FORETRAIN_REQUIRE(layer >= 0 && layer < layers);
  if (!layer_pattern.empty()) return layer_form(layer).kind == LayerKind::moe;
  if (!moe || layer < moe->first_dense_layers) return false;
  // As Megatron's moe_layer_freq: the first layer of every group of `every` is the MoE one.
  return (layer - moe->first_dense_layers) % moe->every == 0;
}

int LlmShape::moe_layers() const {
  if (!moe) return 0;
  if (!layer_pattern.empty()) return foretrain::moe_layers(form_counts(0, layers));
  const int candidates = layers - moe->first_dense_layers;
  return candidates <= 0 ? 0 : (candidates + moe->every - 1) / moe->every;
}

bool LlmShape::is_windowed_layer(int layer, int sequence) const {
  FORETRAIN_REQUIRE(layer >= 0 && layer < layers);
  if (!windows_cut(sequence)) return false;
  const LayerType form = layer_form(layer);
  if (form.special > 0 || form.mixer != MixerKind::attention) return false;
  // As Megatron's window_attn_skip_freq: every Nth layer skips the window.
  return full_attention_every == 0 || (layer + 1) % full_attention_every != 0;
}

int padded_vocabulary(int vocabulary, int multiple) {
  FORETRAIN_REQUIRE(vocabulary >= 1 && multiple >= 1);
  return (vocabulary + multiple - 1) / multiple * multiple;
}

}  // namespace foretrain
