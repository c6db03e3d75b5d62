// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "models/inputs/llm.hpp"

namespace foretrain::huggingface {

enum class Gate { none, gated };
enum class Biases { none, qkv, all };
enum class Experts { none, every_layer, sparse_step, dense_first, by_pattern };
/// Where layers have other mixers than attention, or one half alone.
enum class Hybrid { none, layer_pattern, linear_attention };

/// What a model type fixes, that its configuration does not say. Sources: the model's report, and
/// the defaults and layers of its published implementation.
struct Family {
  std::string_view type;
  NormKind norm;
  bool norm_bias;
  Gate gate;
  PositionKind position;
  Biases biases;
  bool tied;  ///< when tie_word_embeddings is left out
  bool qk_norm = false;
  bool embedding_norm = false;
  int norms = 2;
  Experts experts = Experts::none;
  bool latent = false;  ///< multi-head latent attention
  /// Layers without the window where the file says nothing: every Nth (LlmShape), 0: none.
  int full_attention_every = 0;
  /// GPT-OSS: attention sinks, a clamped activation function, a bias on the router's logits, rotary
  /// positions of scaled amplitude.
  bool sinks_and_clamp = false;
  Hybrid hybrid = Hybrid::none;
  bool qk_norm_whole = false;  ///< over all heads together (OLMo 2)
  bool router_bias = false;    ///< a correction bias per expert
};

/// Every model type that is known, by name.
[[nodiscard]] std::span<const Family> families();

/// Null pointer for a type that is not known.
[[nodiscard]] const Family* find_family(std::string_view type);

/// Whether a key changes neither sizes nor FLOPs of training as it is modelled.
[[nodiscard]] bool without_effect(std::string_view key);

}  // namespace foretrain::huggingface
