// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/llm.hpp"
#include "scenarios/imports/megatron/megatron_arguments.hpp"

namespace foretrain {

/// Megatron-LM arguments of a model's shape. Of layers with parts that no argument names (chunked
/// windows, sandwich norms, patterns of mixers) they say the rest: whoever needs the shape itself
/// asks shape_has_arguments().
[[nodiscard]] MegatronArguments megatron_shape_arguments(const LlmShape& shape);

/// Whether those arguments, read again, are the same shape.
[[nodiscard]] bool shape_has_arguments(const LlmShape& shape);

}  // namespace foretrain
