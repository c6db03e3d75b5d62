// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/names.hpp"

namespace foretrain {

enum class NormKind { layernorm, rmsnorm };
FORETRAIN_ENUM_NAMES(NormKind, {NormKind::layernorm, "layernorm"}, {NormKind::rmsnorm, "rmsnorm"});

/// The norm before a projector: none, or one with a scale (and, of a LayerNorm, a bias).
enum class ProjectorNorm { none, layernorm, rmsnorm };
FORETRAIN_ENUM_NAMES(ProjectorNorm, {ProjectorNorm::none, "none"},
                     {ProjectorNorm::layernorm, "layernorm"}, {ProjectorNorm::rmsnorm, "rmsnorm"});

/// A vision tower: a transformer over the patches of an image, in which every patch sees all others
/// (arXiv 2010.11929), and the projector that makes tokens of a language model of what it gives.
struct VisionShape {
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;  ///< 0: heads
  int head_dim = 0;  ///< 0: hidden / heads
  int mlp_hidden = 0;
  bool mlp_gated = false;
  bool bias = false;                    ///< on all linear layers of its layers
  NormKind norm = NormKind::layernorm;  ///< a LayerNorm has a bias
  int norms_per_layer = 2;
  bool qk_norm = false;
  bool first_norm = false;  ///< before the first layer (Pixtral)
  bool final_norm = false;  ///< behind the last one (SigLIP)
  bool rotary = false;
  int window = 0;                ///< patches that see each other; 0: all of an image
  int full_attention_every = 0;  ///< with a window: layers N, 2N, ... see all; 0: none does

  int patch = 0;  ///< pixels on a side
  int channels = 3;
  int frames = 1;  ///< of a video in a patch, which an image fills with copies of itself
  bool patch_bias = false;
  int positions = 0;  ///< rows of tables of learned positions; 0: none

  int merge = 1;        ///< patches on a side that become one token
  bool pooled = false;  ///< their mean, in place of one after another
  ProjectorNorm projector_norm = ProjectorNorm::none;
  int merger_hidden = 0;     ///< width of a linear layer before the projector (Pixtral); 0: none
  int projector_hidden = 0;  ///< width between its two linear layers; 0: it is one
  bool projector_bias = false;
  /// Projectors of inner layers' results, whose norm is behind the merging (DeepStack, Qwen3-VL).
  int inner_projectors = 0;
  int tokens = 0;  ///< of an image where all have as many; 0: of no fixed size

  /// Patches that become a token.
  [[nodiscard]] int merged() const { return merge * merge; }
  /// Width of what the projector reads of a token.
  [[nodiscard]] int projector_input() const { return pooled ? hidden : merged() * hidden; }
};

}  // namespace foretrain
