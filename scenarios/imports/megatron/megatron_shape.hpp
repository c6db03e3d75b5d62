// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {

/// Megatron-LM arguments of a model's shape. Of layers with parts that no argument names (chunked
/// windows, sandwich norms, patterns of mixers) they say the rest: whoever needs the shape itself
/// asks shape_has_arguments().
/// @param lost gets a sentence for each number that no argument says, or that nobody said
[[nodiscard]] MegatronArguments megatron_shape_arguments(const LlmShape& shape,
                                                         std::vector<std::string>* lost = nullptr);

/// Whether those arguments, read again, are the same shape.
[[nodiscard]] bool shape_has_arguments(const LlmShape& shape);

/// Constants of Megatron-LM that have no argument: --use-rope-scaling's first length
/// (rope_utils of Llama 3.1), and the YaRN of --enable-gpt-oss.
inline constexpr int llama_positions = 8192;
inline constexpr int gpt_oss_positions = 4096;
inline constexpr double gpt_oss_factor = 32.0;

}  // namespace foretrain
