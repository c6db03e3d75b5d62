// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "models/inputs/llm.hpp"
#include "planner/exchange/exports.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {

/// Arguments of Megatron-LM that say a plan, switches as "true". What they cannot say is refused in
/// the book.
/// @param model gets what is left out of the model's shape and its tokenizer; it may be `book`
[[nodiscard]] MegatronArguments megatron_arguments(const Job& job, ExportBook& book,
                                                   ExportBook& model);

/// Adds Megatron-Core's arguments for patterns and mixers of hybrid models, and for what gated or
/// sparse attention has besides; none for other models. What it cannot say is refused in the book.
void put_hybrid_arguments(const LlmShape& model, ExportBook& book, MegatronArguments& words);

/// Parts of a model that no exporter writes, refused by name.
void refuse_unwritten(const LlmShape& model, ExportBook& book);

/// The program that trains such a model.
[[nodiscard]] std::string_view megatron_program(const LlmShape& model);

}  // namespace foretrain
