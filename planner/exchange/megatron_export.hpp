// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/inputs/llm.hpp"
#include "planner/exchange/exports.hpp"

namespace foretrain {

/// Megatron-Core's arguments for patterns and mixers of hybrid models, and for what gated or sparse
/// attention has besides; empty for other models. What it cannot say is refused in the book.
[[nodiscard]] std::vector<std::string> hybrid_words(const LlmShape& model, ExportBook& book);

/// Parts of a model that no exporter writes, refused by name.
void refuse_unwritten(const LlmShape& model, ExportBook& book);

/// The program that trains such a model.
[[nodiscard]] std::string_view megatron_program(const LlmShape& model);

}  // namespace foretrain
