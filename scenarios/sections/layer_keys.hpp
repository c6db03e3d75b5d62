// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/fields/key_rows.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Keys of layers that differ from the model's own, and of what lies around halves of layers.
[[nodiscard]] KeyRows layer_keys();

/// Fills LlmShape::special_layers: what an element leaves out is the model's own.
/// @pre the model's own sizes are read and derived
void read_special_layers(const FieldValues& values, LlmShape& shape);

/// Reports patterns that name no such layers, sizes that do not fit, and keys without effect.
void check_layers(const LlmShape& shape, const FieldValues& values, Diagnostics& diagnostics);

/// The special layers as the catalog writes them; empty where there are none.
[[nodiscard]] std::string special_layers_text(const LlmShape& shape);

}  // namespace foretrain
