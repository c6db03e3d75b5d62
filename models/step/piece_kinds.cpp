// SPDX-License-Identifier: Apache-2.0
// Pieces of a model, and the layers that they are.
#include "models/step/step_costs.hpp"

namespace foretrain {
namespace {

constexpr int first_layer = static_cast<int>(PieceKind::layer);
constexpr int first_hybrid = static_cast<int>(PieceKind::hybrid_layer);
constexpr int after_layers = static_cast<int>(PieceKind::head);

/// Layers of models that are no hybrids.
constexpr bool is_usual(const LayerType& type) {
  return type.mixer == MixerKind::attention && type.kind != LayerKind::none;
}

/// Among the layers that only hybrids have, in the order of layer_types.
constexpr int hybrid_rank(const LayerType& type) {
  int rank = 0;
  for (const LayerType& other : layer_types) {
    if (other == type) break;
    if (!is_usual(other)) ++rank;
  }
  return rank;
}

constexpr LayerType hybrid_of_rank(int rank) {
  for (const LayerType& type : layer_types)
    if (!is_usual(type) && hybrid_rank(type) == rank) return type;
  return {};
}

std::string layer_name(const LayerVariant& layer) {
  std::string name;
  if (layer.recomputed) name += "recomputed ";
  if (layer.windowed) name += "windowed ";
  if (layer.wide) name += "bf16 ";
  if (!is_usual(layer.type())) {
    if (layer.mixer == MixerKind::mamba) name += "Mamba ";
    if (layer.mixer == MixerKind::delta) name += "delta net ";
    if (layer.mixer == MixerKind::attention) name += "attention ";
    if (layer.mixer == MixerKind::none && layer.kind == LayerKind::dense) name += "MLP ";
  }
  if (layer.kind == LayerKind::moe) name += "expert ";
  return name + "layer";
}

}  // namespace

PieceKind layer_piece(const LayerVariant& variant) {
  const int again = variant.recomputed ? 1 : 0;
  const LayerType type = variant.type();
  if (is_usual(type))
    return static_cast<PieceKind>(first_layer + again + (type.kind == LayerKind::moe ? 2 : 0) +
                                  (variant.wide ? 4 : 0) + (type.windowed ? 8 : 0));
  return static_cast<PieceKind>(first_hybrid + 4 * hybrid_rank(type) + again +
                                (variant.wide ? 2 : 0));
}

std::optional<LayerVariant> layer_of(PieceKind kind) {
  const int at = static_cast<int>(kind);
  if (at < first_layer || at >= after_layers) return std::nullopt;
  if (at < first_hybrid) {
    const int index = at - first_layer;
    return LayerVariant{.kind = (index & 2) != 0 ? LayerKind::moe : LayerKind::dense,
                        .recomputed = (index & 1) != 0,
                        .wide = (index & 4) != 0,
                        .windowed = (index & 8) != 0};
  }
  const int index = at - first_hybrid;
  const LayerType type = hybrid_of_rank(index / 4);
  return LayerVariant{.kind = type.kind,
                      .recomputed = (index & 1) != 0,
                      .wide = (index & 2) != 0,
                      .windowed = type.windowed,
                      .mixer = type.mixer};
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
    case PieceKind::replicas:
      return "replicas";
    case PieceKind::outputs:
      return "outputs";
    default:
      return "loss of the other replicas";
  }
}

}  // namespace foretrain
