// SPDX-License-Identifier: Apache-2.0
#include "models/grid/layer_sources.hpp"

#include <algorithm>
#include <limits>

namespace foretrain {
namespace {

/// With the window that it has in sequences that no window holds.
LayerSizes sizes_of(const LlmShape& model, int layer) {
  LayerType type = model.layer_form(layer);
  type.windowed = model.is_windowed_layer(layer, std::numeric_limits<int>::max());
  return model.sizes(type);
}

/// Whether a layer's keys and values are those that the other one reads.
bool makes_keys_for(const LayerSizes& maker, const LayerSizes& reader) {
  return !maker.shared_keys && maker.heads > 0 && maker.window == reader.window &&
         maker.kv_heads == reader.kv_heads && maker.head_dim == reader.head_dim;
}

/// The last layer before this one of which `makes` holds.
template <class Makes>
std::optional<int> last_before(const LlmShape& model, int layer, const Makes& makes) {
  for (int before = layer - 1; before >= 0; --before)
    if (makes(sizes_of(model, before))) return before;
  return std::nullopt;
}

}  // namespace

bool has_sources(const LlmShape& model) {
  return std::ranges::any_of(model.special_layers, [](const LayerSizes& sizes) {
    return sizes.shared_keys || sizes.index == IndexUse::shared;
  });
}

std::optional<LayerSource> source_of(const LlmShape& model, int layer) {
  const LayerSizes sizes = sizes_of(model, layer);
  if (sizes.shared_keys)
    if (const auto source = last_before(
            model, layer, [&](const LayerSizes& maker) { return makes_keys_for(maker, sizes); }))
      return LayerSource{*source, "keys and values"};
  if (sizes.index == IndexUse::shared)
    if (const auto source = last_before(
            model, layer, [](const LayerSizes& maker) { return maker.index == IndexUse::own; }))
      return LayerSource{*source, "choice of tokens"};
  return std::nullopt;
}

bool may_cut(const LlmShape& model, int layer) {
  for (int later = layer; later < model.layers; ++later)
    if (const auto source = source_of(model, later); source && source->layer < layer) return false;
  return true;
}

}  // namespace foretrain
