// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/layers/internal/describe.hpp"

namespace foretrain::layer_detail {

/// Matrix products of a scan's kernel per token, in FLOPs.
using ScanFlops = Traffic;

/// A kernel of a chunked scan: its matrix products and its memory traffic, per token.
void describe_scan(std::string_view name, const ScanFlops& flops, const Traffic& bytes,
                   LayerDescription& layer, double launches = 1.0);

/// A depthwise causal convolution with its activation over `channels`, which the backward pass
/// makes again (mamba-ssm, `mamba_split_conv1d_scan_combined`).
void describe_convolution(double channels, double parameters, LayerDescription& layer);

/// A norm of the scan's output times a gate, over `width` elements; without parameters the gate
/// alone.
void describe_gated_norm(double width, double parameters, LayerDescription& layer);

/// Norm, exchange and projection that a mixer starts with, and its saved output.
struct MixerProjection {
  double columns = 0.0;  ///< of a rank
  double biases = 0.0;
  double vectors = 0.0;  ///< parameters of the scan
  double apart = 0.0;    ///< of the columns: those that Hugging Face projects to apart
};
void describe_mixer_input(const LlmShape& model, const MixerProjection& projection,
                          LayerDescription& layer);
/// The same without the norm, of a mixer beside another.
void describe_mixer_projection(const LlmShape& model, const MixerProjection& projection,
                               LayerDescription& layer);
/// The projection of `inner` elements back into the residual stream.
void describe_mixer_output(const LlmShape& model, double inner, double biases,
                           LayerDescription& layer);

}  // namespace foretrain::layer_detail
