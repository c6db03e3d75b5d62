// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "models/inputs/llm.hpp"

namespace foretrain {

/// What a layer reads that an earlier one made in the same pass.
struct LayerSource {
  int layer = 0;          ///< that made it
  std::string_view what;  ///< static text
};

/// Whether any layer does.
[[nodiscard]] bool has_sources(const LlmShape& model);

/// Keys and values of the last layer before with the same window and heads that makes its own, or
/// the choice of tokens of the last one that chooses; nothing where a layer makes what it needs.
/// @pre 0 <= layer < model.layers
[[nodiscard]] std::optional<LayerSource> source_of(const LlmShape& model, int layer);

/// Whether a pipeline may be cut before this layer: none from it on reads of one before it.
[[nodiscard]] bool may_cut(const LlmShape& model, int layer);

}  // namespace foretrain
