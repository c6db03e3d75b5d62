// SPDX-License-Identifier: Apache-2.0
// Pieces of a model, and the layers that they are.
#include "models/step/step_costs.hpp"

#include <fmt/format.h>

namespace foretrain {
namespace {

constexpr int first_layer = static_cast<int>(PieceKind::layer);
constexpr int after_layers = static_cast<int>(PieceKind::head);
constexpr int per_type = static_cast<int>(pieces_per_type);
constexpr int first_frozen = static_cast<int>(PieceKind::frozen_layer);

/// As LlmShape::special_pattern names them.
char letter_of(std::uint8_t special) { return static_cast<char>('a' + special - 1); }

std::string layer_name(const LayerVariant& layer) {
  std::string name;
  if (layer.frozen) name += "frozen ";
  if (layer.recomputed) name += "recomputed ";
  if (layer.windowed) name += "windowed ";
  if (layer.special > 0) name += fmt::format("special {} ", letter_of(layer.special));
  if (layer.wide) name += "bf16 ";
  const bool alone = layer.kind == LayerKind::none;
  if (layer.mixer == MixerKind::mamba) name += "Mamba ";
  if (layer.mixer == MixerKind::delta) name += "delta net ";
  if (layer.mixer == MixerKind::convolution) name += "convolution ";
  if (layer.mixer == MixerKind::attention && alone) name += "attention ";
  if (layer.mixer == MixerKind::none && layer.kind == LayerKind::dense) name += "MLP ";
  if (layer.kind == LayerKind::moe) name += "expert ";
  return name + "layer";
}

}  // namespace

PieceKind layer_piece(const LayerVariant& variant) {
  if (variant.frozen)
    return static_cast<PieceKind>(first_frozen + 2 * static_cast<int>(type_index(variant.type())) +
                                  (variant.wide ? 1 : 0));
  return static_cast<PieceKind>(first_layer +
                                per_type * static_cast<int>(type_index(variant.type())) +
                                (variant.recomputed ? 1 : 0) + (variant.wide ? 2 : 0));
}

std::optional<LayerVariant> layer_of(PieceKind kind) {
  const int at = static_cast<int>(kind);
  if (at >= first_frozen) {
    const int index = at - first_frozen;
    LayerVariant layer =
        variant_of(layer_types[static_cast<std::size_t>(index / 2)], false, index % 2 != 0);
    layer.frozen = true;
    return layer;
  }
  if (at < first_layer || at >= after_layers) return std::nullopt;
  const int index = at - first_layer;
  return variant_of(layer_types[static_cast<std::size_t>(index / per_type)], (index & 1) != 0,
                    (index & 2) != 0);
}

bool computes_narrow(PieceKind kind) {
  const std::optional<LayerVariant> layer = layer_of(kind);
  return layer && !layer->wide;
}

std::string piece_name(PieceKind kind) {
  if (const std::optional<LayerVariant> layer = layer_of(kind)) return layer_name(*layer);
  switch (kind) {
    case PieceKind::embedding:
      return "embedding";
    case PieceKind::head:
      return "head";
    case PieceKind::vocabulary_share:
      return "share of the vocabulary";
    case PieceKind::vision:
      return "vision tower";
    case PieceKind::replicas:
      return "replicas";
    case PieceKind::outputs:
      return "outputs";
    case PieceKind::prediction:
      return "prediction modules";
    default:
      return "loss of the other replicas";
  }
}

}  // namespace foretrain
