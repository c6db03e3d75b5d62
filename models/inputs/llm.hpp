// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/inputs/layer_type.hpp"

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

enum class PositionKind { learned, rotary, alibi, none };
FORETRAIN_ENUM_NAMES(PositionKind, {PositionKind::learned, "learned"},
                     {PositionKind::rotary, "rotary"}, {PositionKind::alibi, "alibi"},
                     {PositionKind::none, "none"});

/// How rotary angles are stretched to sequences longer than those of the first training: all alike,
/// Llama 3.1's way by wavelength, or YaRN (arXiv 2309.00071).
enum class RopeScaling { none, linear, llama3, yarn };
FORETRAIN_ENUM_NAMES(RopeScaling, {RopeScaling::none, "none"}, {RopeScaling::linear, "linear"},
                     {RopeScaling::llama3, "llama3"}, {RopeScaling::yarn, "yarn"});

/// Numbers inside of the same arithmetic: no forecast reads them, what is written for a launch
/// carries them. 0: not known.
struct ModelNumbers {
  double rope_theta = 0.0;  ///< base of the rotary angles
  double rope_share = 1.0;  ///< of a head's width that has positions
  RopeScaling rope_scaling = RopeScaling::none;
  double rope_factor = 0.0;  ///< of the scaling
  int rope_positions = 0;    ///< longest sequence before the scaling
  double norm_epsilon = 0.0;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1).
struct MlaShape {
  int q_lora_rank = 0;  ///< 0: queries are projected directly
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0;
  int qk_rope_head_dim = 0;
  int v_head_dim = 0;
};

/// Sparse attention (DeepSeek-V3.2, arXiv 2512.02556 section 2.1): an indexer scores all tokens
/// before one in heads of its own, and the attention sees the best of them.
struct IndexerShape {
  int heads = 0;
  int head_dim = 0;
  int top_k = 0;         ///< tokens that the attention sees
  bool weighted = true;  ///< heads are weighed by a projection; else keys and queries are normed
};

/// Compressed attention (DeepSeek-V4): queries from a latent vector, one head that is key and value
/// for all of them, an output projection in groups of low rank; beside the window, tokens are seen
/// by compressed keys (LayerSizes::compressed), where an indexer is, by the best of them.
struct CompressionShape {
  int q_lora_rank = 0;
  int o_groups = 0;
  int o_lora_rank = 0;  ///< of each group
};

/// Mixture of experts in the MLP of some layers.
struct MoeShape {
  int experts = 0;            ///< routed experts per MoE layer
  int top_k = 0;              ///< experts per token
  int expert_ffn_hidden = 0;  ///< width of one routed expert
  int shared_ffn_hidden = 0;  ///< width of all shared experts together; 0: none
  bool shared_gate = false;   ///< Qwen2-MoE: a sigmoid gate (one weight row) on the shared expert
  bool router_bias =
      false;  ///< DeepSeek-V3: one correction bias per expert (not a gradient weight, counted)
  bool linear_bias = false;    ///< GPT-OSS: a trained bias on the router's logits
  int first_dense_layers = 0;  ///< leading layers with a dense MLP of width ffn_hidden
  int every = 1;               ///< one MoE layer in every `every` layers after those
  /// Routed experts work in a space of this width, with projections down and up around them
  /// (Nemotron 3 Super); 0: in the residual stream's.
  int latent_hidden = 0;
  bool latent_norm = false;    ///< a norm of what comes out of that space (Kimi K3)
  int identity_experts = 0;    ///< choices of the router that compute nothing (LongCat)
  bool router_scales = false;  ///< of the router's input and of each expert's result (Gemma 4)
  bool dense_beside = false;   ///< a dense MLP of width ffn_hidden beside the experts (Gemma 4)

  /// Width that routed experts read and write.
  [[nodiscard]] int expert_input(int hidden) const {
    return latent_hidden > 0 ? latent_hidden : hidden;
  }
  /// Experts that a token computes in, on average: choices that compute nothing are as popular.
  [[nodiscard]] double computing() const {
    return 1.0 * top_k * experts / (experts + identity_experts);
  }
};

/// Everything that decides parameter counts, FLOPs and memory of a decoder-only transformer. The
/// sizes of its own are those of all layers that are not special.
struct LlmShape : LayerSizes {
  std::string name;
  std::string title;
  int layers = 0;
  int hidden = 0;
  int vocabulary = 0;  ///< as published, before padding
  int positions = 0;   ///< rows of the learned position table; 0 without one
  PositionKind position = PositionKind::rotary;
  NormKind norm = NormKind::rmsnorm;
  bool norm_bias = false;  ///< LayerNorm with bias (false for MPT's low-precision LayerNorm)
  /// Rotary positions whose amplitude is scaled as well (YaRN, arXiv 2309.00071 section 3.4), which
  /// fused kernels do not do.
  bool rotary_scaled = false;
  /// Inputs of the activation function stay within this, of experts' as well (GPT-OSS); 0: any.
  double mlp_clamp = 0.0;
  bool qk_norm = false;         ///< RMSNorm over head_dim on queries and keys (Qwen3)
  bool qk_norm_whole = false;   ///< the same over all heads together (OLMo 2)
  bool embedding_norm = false;  ///< norm right after the embedding (BLOOM)
  bool gated_mlp = false;       ///< SwiGLU/GeGLU: three matrices
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;  ///< output projection shares the input embedding
  int norms_per_layer = 2;       ///< 4 for sandwich norms (Grok-1)
  std::optional<MlaShape> mla;
  std::optional<MoeShape> moe;
  std::optional<IndexerShape> indexer;
  std::optional<CompressionShape> compression;
  /// Copies of the residual stream that halves are mixed from and added to (arXiv 2409.19606,
  /// 2512.24880; DeepSeek-V4).
  int hyper_connections = 1;
  /// Halves start from a weighted sum over what blocks of so many layers gave (Kimi K3); 0: from
  /// the last alone.
  int residual_blocks = 0;
  int mtp_layers = 0;  ///< DeepSeek-V3 multi-token prediction modules
  /// With a window: layers N, 2N, ... (the first is layer 1) see everything; 0: no layer does.
  int full_attention_every = 0;
  /// The window is the chunk of that many tokens that a token lies in, not those before it (Llama
  /// 4).
  bool window_chunked = false;

  /// A letter for each layer that is one half alone, as Megatron-Core's hybrid models: M Mamba-2, G
  /// gated delta net, * attention, - MLP, E experts. Empty: layers have both halves.
  std::string layer_pattern;
  /// The mixers of layers with both halves, repeated over the layers: M, G and *. Empty: attention.
  std::string mixer_pattern;
  std::optional<MambaShape> mamba;
  std::optional<DeltaShape> delta;
  std::optional<ConvolutionShape> convolution;
  bool attention_gate = false;  ///< sigmoid gate on the attention's output (Qwen3-Next)
  bool head_gate = false;       ///< one value of it for each head (Step 3.5)
  bool mamba_beside = false;    ///< layers of attention have a Mamba mixer beside it (Falcon-H1)
  bool layer_scale = false;     ///< a factor of each layer's output (Gemma 4)
  /// Width of what each layer reads of a second embedding of the token (Gemma 3n, Gemma 4); 0:
  /// none.
  int per_layer_input = 0;
  /// Layers of other sizes, at most most_special_layers, and where they are: a letter for each
  /// layer, repeated over the layers, a for the first of them, . for none.
  std::vector<LayerSizes> special_layers;
  std::string special_pattern;

  bool bidirectional = false;  ///< a token sees those behind it as well (layers of a tower)
  /// What makes tokens of images; nothing: the model reads text alone. Layers, parameters and
  /// lengths above are the language model's.
  std::optional<VisionShape> vision;

  ModelNumbers numbers;

  /// Published count that parameters() must reproduce, 0 where none is published.
  std::int64_t published_parameters = 0;

  /// Of a layer of this type.
  [[nodiscard]] LayerSizes sizes(const LayerType& type) const;
  /// Elements of a token between layers.
  [[nodiscard]] double stream_width() const { return 1.0 * hidden * hyper_connections; }
  /// The same between stages of a pipeline: with what blocks of layers before gave, half of them on
  /// average, and with the rows of per-layer embeddings, which the first stage looks up.
  [[nodiscard]] double boundary_width() const;
  /// The halves of a layer; windowed: false. @pre 0 <= layer < layers
  [[nodiscard]] LayerType layer_form(int layer) const;
  /// Of `count` layers from `first` on.
  [[nodiscard]] FormCounts form_counts(int first, int count) const;
  /// Some layers have other mixers than attention, or one half alone.
  [[nodiscard]] bool is_hybrid() const { return !layer_pattern.empty() || !mixer_pattern.empty(); }
  [[nodiscard]] bool has_mixer(MixerKind mixer) const;
  [[nodiscard]] bool is_moe_layer(int layer) const;
  [[nodiscard]] int moe_layers() const;
  /// A layer whose attention is cut to the window in sequences of this length. A window that holds
  /// the whole sequence cuts nothing.
  [[nodiscard]] bool is_windowed_layer(int layer, int sequence) const;
  [[nodiscard]] bool windows_cut(int sequence) const { return window > 0 && window < sequence; }
  /// The narrowest window of any layer; 0: none has one.
  [[nodiscard]] int narrowest_window() const;
  [[nodiscard]] int widest_window() const;
  /// All layers hold the same, and take as long but for windows.
  [[nodiscard]] bool is_uniform() const { return !moe && !is_hybrid() && special_pattern.empty(); }
};

/// `multiple` > 1 rounds the vocabulary up (Megatron: 128 * tensor); 1 leaves it as published.
[[nodiscard]] int padded_vocabulary(int vocabulary, int multiple);

}  // namespace foretrain
