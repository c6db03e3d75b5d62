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
enum class MixerKind : std::uint8_t { attention, mamba, delta, convolution, none };
FORETRAIN_ENUM_NAMES(MixerKind, {MixerKind::attention, "attention"}, {MixerKind::mamba, "mamba"},
                     {MixerKind::delta, "delta"}, {MixerKind::convolution, "convolution"},
                     {MixerKind::none, "none"});

/// A layer of a model: its halves, and whether its attention sees a window only.
struct LayerType {
  LayerKind kind = LayerKind::dense;
  bool windowed = false;  ///< LlmShape::window
  MixerKind mixer = MixerKind::attention;
  /// Of LlmShape::special_layers, from 1 on; 0: of the model's own sizes. Has attention, never
  /// `windowed`, and a dense MLP or experts.
  std::uint8_t special = 0;

  friend bool operator==(const LayerType&, const LayerType&) = default;
};

inline constexpr std::size_t layer_kinds = 3;
inline constexpr std::size_t mixer_kinds = 5;
inline constexpr std::size_t most_special_layers = 7;
/// Of the model's own sizes; special ones follow, dense and with experts.
inline constexpr std::size_t plain_forms = mixer_kinds * layer_kinds;
/// Layers that hold and save the same: of all halves, windowed or not.
inline constexpr std::size_t layer_forms = plain_forms + 2 * most_special_layers;

[[nodiscard]] constexpr std::size_t form_index(const LayerType& type) {
  if (type.special > 0)
    return plain_forms + 2 * (type.special - std::size_t{1}) +
           (type.kind == LayerKind::moe ? 1 : 0);
  return static_cast<std::size_t>(type.mixer) * layer_kinds + static_cast<std::size_t>(type.kind);
}
/// Its inverse; windowed: false.
[[nodiscard]] constexpr LayerType form_of(std::size_t form) {
  if (form < plain_forms)
    return {static_cast<LayerKind>(form % layer_kinds), false,
            static_cast<MixerKind>(form / layer_kinds)};
  const std::size_t special = form - plain_forms;
  return {special % 2 == 1 ? LayerKind::moe : LayerKind::dense, false, MixerKind::attention,
          static_cast<std::uint8_t>(special / 2 + 1)};
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
    if (form_of(form).kind == LayerKind::moe) sum += forms[form];
  return sum;
}

/// Layers that take as long: all forms, then those whose attention is windowed.
inline constexpr std::array<LayerType, layer_forms + layer_kinds> layer_types = [] {
  std::array<LayerType, layer_forms + layer_kinds> types{};
  for (std::size_t i = 0; i < types.size(); ++i) {
    if (i < layer_forms)
      types[i] = form_of(i);
    else
      types[i] = {static_cast<LayerKind>(i - layer_forms), true};
  }
  return types;
}();
[[nodiscard]] constexpr std::size_t type_index(const LayerType& type) {
  return type.windowed ? layer_forms + static_cast<std::size_t>(type.kind) : form_index(type);
}
/// Layers of a model by type_index().
using LayerCounts = std::array<int, layer_types.size()>;

/// Whether attention sees chosen tokens alone, and who chooses them.
enum class IndexUse : std::uint8_t {
  none,    ///< it sees all
  shared,  ///< the indexer of an earlier layer (GLM-5.2)
  own
};
FORETRAIN_ENUM_NAMES(IndexUse, {IndexUse::none, "none"}, {IndexUse::shared, "shared"},
                     {IndexUse::own, "own"});

/// Sizes that may differ from layer to layer.
struct LayerSizes {
  int heads = 0;       ///< 0: the layer has no attention
  int kv_heads = 0;    ///< = heads: multi-head; 1: multi-query; else grouped-query
  int head_dim = 0;    ///< of queries and keys; need not be hidden / heads (Qwen3, Gemma)
  int value_dim = 0;   ///< of a value head; 0: head_dim (MiMo-V2: smaller)
  int window = 0;      ///< tokens that a token sees, itself included; 0: all before it
  int ffn_hidden = 0;  ///< dense MLP width
  /// A learned logit per head in the softmax (GPT-OSS).
  bool attention_sinks = false;
  IndexUse index = IndexUse::none;
  /// Tokens that share a compressed key (LlmShape::compression), seen beside the window; 0: none.
  int compressed = 0;
  bool hash_routed = false;      ///< experts chosen by a table of tokens (DeepSeek-V4)
  bool shared_keys = false;      ///< keys and values of an earlier layer (Gemma 3n, Gemma 4)
  bool keys_are_values = false;  ///< one projection makes both (Gemma 4)

  friend bool operator==(const LayerSizes&, const LayerSizes&) = default;
};

/// Mamba-2 mixers (arXiv 2405.21060): heads of a scalar decay each, which share inputs and outputs
/// of the state within a group. With `step_rank` Mamba-1 mixers (arXiv 2312.00752): a decay for
/// each channel and state, steps from a low-rank projection; heads of one channel, no groups.
struct MambaShape {
  int heads = 0;
  int head_dim = 0;
  int groups = 0;     ///< heads of a group share B and C
  int state_dim = 0;  ///< of B and C
  int conv_kernel = 4;
  int chunk = 128;  ///< tokens that the scan multiplies at once (Megatron-Core's default)
  bool conv_bias = true;
  bool projection_bias = false;
  bool gated_norm = true;    ///< a norm of the gated output (Falcon-H1 has none)
  int step_rank = 0;         ///< Mamba-1: rank of the step sizes' projection; 0: Mamba-2
  bool inner_norms = false;  ///< Mamba-1: norms of steps, inputs and outputs of the state (Jamba)

  [[nodiscard]] int inner() const { return heads * head_dim; }
};

/// Mixers whose state is a matrix of keys by values.
enum class DeltaKind : std::uint8_t {
  gated_delta,  ///< arXiv 2412.06464 as Qwen3-Next has it: decays and write strengths of heads
  kimi_delta,   ///< arXiv 2510.26692: decays of channels, low-rank gates
  lightning     ///< arXiv 2401.04658: fixed decays, nothing is erased (MiniMax-M1)
};
FORETRAIN_ENUM_NAMES(DeltaKind, {DeltaKind::gated_delta, "gated-delta"},
                     {DeltaKind::kimi_delta, "kimi-delta"}, {DeltaKind::lightning, "lightning"});

/// Short convolutions between two gates, as mixers (LFM2).
struct ConvolutionShape {
  int kernel = 3;
  bool bias = false;
};

/// Linear-attention mixers: several value heads may share a key head.
struct DeltaShape {
  int key_heads = 0;
  int value_heads = 0;
  int key_head_dim = 0;
  int value_head_dim = 0;
  int conv_kernel = 4;  ///< lightning has no convolution
  int chunk = 64;       ///< of the chunked scan (flash-linear-attention)
  DeltaKind kind = DeltaKind::gated_delta;
  bool full_rank_gate = false;  ///< of kimi_delta: the output gate is one projection

  [[nodiscard]] int keys() const { return key_heads * key_head_dim; }
  [[nodiscard]] int values() const { return value_heads * value_head_dim; }
};

}  // namespace foretrain
