// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/base/names.hpp"

namespace foretrain {

enum class PositionKind { learned, rotary, alibi, none };
FORETRAIN_ENUM_NAMES(PositionKind, {PositionKind::learned, "learned"},
                     {PositionKind::rotary, "rotary"}, {PositionKind::alibi, "alibi"},
                     {PositionKind::none, "none"});

enum class NormKind { layernorm, rmsnorm };
FORETRAIN_ENUM_NAMES(NormKind, {NormKind::layernorm, "layernorm"}, {NormKind::rmsnorm, "rmsnorm"});

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434 section 2.1).
struct MlaShape {
  int q_lora_rank = 0;  ///< 0: queries are projected directly
  int kv_lora_rank = 0;
  int qk_nope_head_dim = 0;
  int qk_rope_head_dim = 0;
  int v_head_dim = 0;
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
  int first_dense_layers = 0;  ///< leading layers with a dense MLP of width ffn_hidden
  int every = 1;               ///< one MoE layer in every `every` layers after those
};

/// Everything that decides parameter counts, FLOPs and memory of a decoder-only transformer.
struct LlmShape {
  std::string name;
  std::string title;
  int layers = 0;
  int hidden = 0;
  int heads = 0;
  int kv_heads = 0;    ///< = heads: multi-head; 1: multi-query; else grouped-query
  int head_dim = 0;    ///< need not be hidden / heads (Qwen3, Gemma)
  int ffn_hidden = 0;  ///< dense MLP width
  int vocabulary = 0;  ///< as published, before padding
  int positions = 0;   ///< rows of the learned position table; 0 without one
  PositionKind position = PositionKind::rotary;
  NormKind norm = NormKind::rmsnorm;
  bool norm_bias = false;       ///< LayerNorm with bias (false for MPT's low-precision LayerNorm)
  bool qk_norm = false;         ///< RMSNorm over head_dim on queries and keys (Qwen3)
  bool embedding_norm = false;  ///< norm right after the embedding (BLOOM)
  bool gated_mlp = false;       ///< SwiGLU/GeGLU: three matrices
  bool qkv_bias = false;
  bool attention_output_bias = false;
  bool mlp_bias = false;
  bool tied_embeddings = false;  ///< output projection shares the input embedding
  int norms_per_layer = 2;       ///< 4 for sandwich norms (Grok-1)
  std::optional<MlaShape> mla;
  std::optional<MoeShape> moe;
  int mtp_layers = 0;  ///< DeepSeek-V3 multi-token prediction modules

  /// Published count that parameters() must reproduce, 0 where none is published.
  std::int64_t published_parameters = 0;

  [[nodiscard]] bool is_moe_layer(int layer) const;
  [[nodiscard]] int moe_layers() const;
};

/// Parameters by component. One layer's counts; embeddings and head on their own.
/// Sources of every line: models/README.md, "Parameters".
struct LayerParameters {
  std::int64_t attention = 0;  ///< projections with biases, q/k norms, latent projections
  std::int64_t dense_mlp = 0;  ///< dense MLP or shared experts with their gate
  std::int64_t router = 0;
  std::int64_t routed_experts = 0;  ///< all experts of the layer
  std::int64_t norms = 0;

  [[nodiscard]] std::int64_t total() const {
    return attention + dense_mlp + router + routed_experts + norms;
  }
};

[[nodiscard]] LayerParameters layer_parameters(const LlmShape& shape, bool moe_layer);

/// `multiple` > 1 rounds the vocabulary up (Megatron: 128 * tensor); 1 leaves it as published.
[[nodiscard]] int padded_vocabulary(int vocabulary, int multiple);

/// Input embedding, learned positions and embedding norm.
[[nodiscard]] std::int64_t embedding_parameters(const LlmShape& shape, int vocabulary);
/// Output projection (0 when tied) and final norm.
[[nodiscard]] std::int64_t head_parameters(const LlmShape& shape, int vocabulary);
/// Extra parameters of all multi-token-prediction modules: one transformer layer, a 2h x h
/// projection and three norms each; embedding and head are shared with the main model
/// (DeepSeek-V3, arXiv 2412.19437 section 2.2).
[[nodiscard]] std::int64_t mtp_parameters(const LlmShape& shape);

/// All parameters with the published vocabulary, without multi-token prediction (as model cards
/// count).
[[nodiscard]] std::int64_t parameters(const LlmShape& shape);
/// Parameters that one token uses: top_k of the routed experts, everything else.
[[nodiscard]] std::int64_t active_parameters(const LlmShape& shape);

}  // namespace foretrain
