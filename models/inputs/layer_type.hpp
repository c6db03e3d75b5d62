// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "models/base/names.hpp"

namespace foretrain {

/// The second half of a layer; none where a layer is a mixer alone (Nemotron-H).
enum class LayerKind : std::uint8_t { dense, moe, none };
FORETRAIN_ENUM_NAMES(LayerKind, {LayerKind::dense, "dense"}, {LayerKind::moe, "moe"},
                     {LayerKind::none, "none"});

/// The first half of a layer, which mixes tokens; none where a layer is an MLP or experts alone.
enum class MixerKind : std::uint8_t { attention, mamba, delta, none };
FORETRAIN_ENUM_NAMES(MixerKind, {MixerKind::attention, "attention"}, {MixerKind::mamba, "mamba"},
                     {MixerKind::delta, "delta"}, {MixerKind::none, "none"});

/// A layer of a model: its halves, and whether its attention sees a window only.
struct LayerType {
  LayerKind kind = LayerKind::dense;
  bool windowed = false;  ///< LlmShape::window
  MixerKind mixer = MixerKind::attention;

  friend bool operator==(const LayerType&, const LayerType&) = default;
};

inline constexpr std::size_t layer_kinds = 3;
/// Layers that hold and save the same: of all halves, windowed or not.
inline constexpr std::size_t layer_forms = 4 * layer_kinds;

[[nodiscard]] constexpr std::size_t form_index(const LayerType& type) {
  return static_cast<std::size_t>(type.mixer) * layer_kinds + static_cast<std::size_t>(type.kind);
}
/// Layers by form_index().
using FormCounts = std::array<int, layer_forms>;
constexpr void add_forms(const FormCounts& more, FormCounts& sum) {
  for (std::size_t form = 0; form < layer_forms; ++form) sum[form] += more[form];
}
[[nodiscard]] constexpr int total_layers(const FormCounts& forms) {
  int sum = 0;
  for (const int count : forms) sum += count;
  return sum;
}
/// Of those, layers with experts.
[[nodiscard]] constexpr int moe_layers(const FormCounts& forms) {
  int sum = 0;
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (form % layer_kinds == static_cast<std::size_t>(LayerKind::moe)) sum += forms[form];
  return sum;
}

/// Layers that take as long: all forms, then those whose attention is windowed.
inline constexpr std::array<LayerType, layer_forms + layer_kinds> layer_types = [] {
  std::array<LayerType, layer_forms + layer_kinds> types{};
  for (std::size_t i = 0; i < types.size(); ++i) {
    const bool windowed = i >= layer_forms;
    types[i] = {static_cast<LayerKind>(i % layer_kinds), windowed,
                windowed ? MixerKind::attention : static_cast<MixerKind>(i / layer_kinds)};
  }
  return types;
}();
[[nodiscard]] constexpr std::size_t type_index(const LayerType& type) {
  return type.windowed ? layer_forms + static_cast<std::size_t>(type.kind) : form_index(type);
}
/// Layers of a model by type_index().
using LayerCounts = std::array<int, layer_types.size()>;

/// Mamba-2 mixers (arXiv 2405.21060): heads of a scalar decay each, which share inputs and outputs
/// of the state within a group.
struct MambaShape {
  int heads = 0;
  int head_dim = 0;
  int groups = 0;     ///< heads of a group share B and C
  int state_dim = 0;  ///< of B and C
  int conv_kernel = 4;
  int chunk = 128;  ///< tokens that the scan multiplies at once (Megatron-Core's default)
  bool conv_bias = true;
  bool projection_bias = false;

  [[nodiscard]] int inner() const { return heads * head_dim; }
};

/// Gated delta net mixers (arXiv 2412.06464) as Qwen3-Next has them: decays and write strengths of
/// value heads, several of which share a key head.
struct DeltaShape {
  int key_heads = 0;
  int value_heads = 0;
  int key_head_dim = 0;
  int value_head_dim = 0;
  int conv_kernel = 4;
  int chunk = 64;  ///< of the chunked scan (flash-linear-attention)

  [[nodiscard]] int keys() const { return key_heads * key_head_dim; }
  [[nodiscard]] int values() const { return value_heads * value_head_dim; }
};

}  // namespace foretrain
