// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "models/base/names.hpp"
#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Attention by what context ranks have to exchange for it.
enum class ContextKind : std::uint8_t {
  full,        ///< every query sees all keys before it
  windowed,    ///< those of a window
  sinks,       ///< with a learned logit in the softmax, windowed or not
  indexed,     ///< those that an indexer chooses
  compressed,  ///< a window, and keys that several tokens share
};
FORETRAIN_ENUM_NAMES(ContextKind, {ContextKind::full, "full attention"},
                     {ContextKind::windowed, "attention with a window"},
                     {ContextKind::sinks, "attention with learned sinks"},
                     {ContextKind::indexed, "indexed sparse attention"},
                     {ContextKind::compressed, "compressed attention"});

/// Whether kernels exist that compute this kind over ranks with this exchange. Sources:
/// models/layers/README.md, "Context ranks".
[[nodiscard]] bool exchanges(ContextKind kind, ContextExchange exchange);

/// The kind that a layer's attention is. @param sequence tokens, of which a window may cut none
[[nodiscard]] ContextKind context_kind(const LlmShape& model, const LayerSizes& sizes,
                                       int sequence);

/// Tokens before its part of a sequence that a context rank of compressed attention needs: of the
/// widest window, and of the group of tokens that a compressed key may reach back to. 0: ranks hold
/// pairs from both ends of a sequence, and no such tokens.
[[nodiscard]] int borrowed_tokens(const LlmShape& model, const LayerSizes& sizes);

/// Consecutive parts of a sequence give the last of `ranks` more to do under a causal mask than
/// parts in pairs: so many times the mean. @pre ranks >= 1
[[nodiscard]] double last_rank_share(const LlmShape& model, int ranks);

/// Why the job's context ranks do not compute its attention; nothing where they do.
[[nodiscard]] std::optional<Infeasible> refuse_context_exchange(const Job& job);

/// Why no kernel computes the job's attention with learned sinks; nothing where one does, or where
/// there are none. cuDNN's fused attention (since 9.13) and unfused attention do; FlashAttention-2
/// does not (Transformer Engine, `dot_product_attention/utils.py`). Context ranks:
/// context_kinds.hpp.
[[nodiscard]] std::optional<Infeasible> refuse_sinks(const Job& job);

}  // namespace foretrain
