// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/fields/key_rows.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// The keys of models whose layers differ: patterns, state-space and delta mixers, and what their
/// attention has besides.
[[nodiscard]] KeyRows hybrid_keys();

/// Patterns that name each layer, with the mixers and experts that they need; false: LlmShape's
/// functions of layers must not be called.
bool check_hybrid(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics);

}  // namespace foretrain
