// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/layers/layer_description.hpp"

namespace foretrain::layer_detail {

inline constexpr double half_bytes = 2.0;  // of a bf16 or fp16 element

// Traffic that fused kernels would move at least, in bytes per element; models/layers/README.md,
// "Time of a layer".
inline constexpr Traffic norm_traffic{4.0, 6.0};
inline constexpr Traffic residual_traffic{7.0, 6.0};

// What eager PyTorch reads and writes for the same in kernels one after another;
// models/layers/README.md, "Eager kernels".
inline constexpr Traffic eager_rotary_traffic{20.0, 30.0};  // of a query or key
[[nodiscard]] Traffic eager_norm_traffic(NormKind norm);
[[nodiscard]] Traffic eager_activation_traffic(const LlmShape& model);

// What plain PyTorch reads and writes in kernels one after another, bytes per element;
// models/layers/README.md, "Plain kernels".
inline constexpr Traffic scaled_rotary_traffic{24.0, 34.0};  // of a query or key
inline constexpr double scaled_rotary_launches = 12.0;

/// Of the activation function over one element of a gated or plain MLP's width.
[[nodiscard]] Traffic activation_traffic(const LlmShape& model);

/// The rows of LayerActivations that a half's norm saves into, and the switches that drop them.
struct NormRows {
  double LayerActivations::*input;
  double LayerActivations::*output;
  LayerModule module;
  LayerModule output_offloaded;
  LinearKind feeds;  ///< the linear layer whose input the norm makes
};

/// What a half starts from, where that is not the residual stream alone: copies of it, or what
/// blocks of layers gave.
void describe_stream_mix(const LlmShape& model, LayerDescription& layer);
/// Norms before (and, in sandwich models, after) a half of a layer.
void describe_norm(std::string_view name, const NormRows& rows, const LlmShape& model,
                   LayerDescription& layer);
/// The norm before an MLP or experts.
void describe_mlp_norm(LinearKind feeds, const LlmShape& model, LayerDescription& layer);
/// The sum at a half's end, with its dropout.
void describe_residual(std::string_view name, const LlmShape& model, LayerDescription& layer);

/// What compressed attention starts from: queries, the one head of keys, and compressed keys.
void describe_compressed_inputs(const LlmShape& model, const LayerSizes& sizes,
                                LayerDescription& layer);
/// Keys of width `width`, each of `ratio` tokens.
void describe_compressor(const LlmShape& model, int ratio, double width, LayerDescription& layer);
/// Its output in groups of low rank. @returns the width of all groups on a rank
double describe_grouped_output(const LlmShape& model, double tensor, LayerDescription& layer);

/// What a layer adds of its part of a second embedding; whole on every tensor rank.
void describe_per_layer_input(const LlmShape& model, LayerDescription& layer);

/// The exchanges before and after a half that is cut over the tensor ranks, `width` elements per
/// token.
void describe_gather(double width, LayerModule again, LayerModule again_too,
                     LayerDescription& layer);
void describe_scatter(double width, LayerModule again, LayerModule again_too,
                      LayerDescription& layer);

/// An MLP that every token passes: a dense layer's, or the shared experts.
struct MlpNames {
  std::string_view up;
  std::string_view activation;
  std::string_view down;
};
struct MlpSwitches {
  LayerModule module;
  LayerModule module_too;
  /// Of the saved input of the activation function, what keeping every second product keeps: the
  /// width of one input, or half of all.
  bool keeps_half;
};
/// Where an activation function works: on `width` elements of these rows.
struct Activation {
  LayerPart part;
  RowKind rows;
  double width;
};
/// The clamp before it.
void describe_clamp(const Activation& activation, const MlpSwitches& switches,
                    const LlmShape& model, LayerDescription& layer);

void describe_mlp(const MlpNames& names, const MlpSwitches& switches, double width,
                  const LlmShape& model, LayerDescription& layer);

}  // namespace foretrain::layer_detail
