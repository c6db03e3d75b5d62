// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/llm.hpp"
#include "scenarios/fields/key_rows.hpp"

namespace foretrain {

/// Limit of every width of a model. With that of layers, heads and experts it keeps the parameters
/// of one layer within 64 bits; the whole model is checked when it is read.
inline constexpr double largest_width = 1e6;

/// The keys that say what a model is made of, and where they go.
[[nodiscard]] KeyRows model_shape_keys();

/// Those, with a name and a title, of a model that is written into a scenario.
[[nodiscard]] const BoundTable<LlmShape>& inline_model_table();
[[nodiscard]] const FieldTable& inline_model_fields();

}  // namespace foretrain
