// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "scenarios/catalog/catalog_entry.hpp"
#include "scenarios/catalog/catalog_models.hpp"

namespace foretrain {

/// Limit of every width of a model. With that of layers, heads and experts it keeps the parameters
/// of one layer within 64 bits; the whole model is checked when it is read.
inline constexpr double largest_width = 1e6;

/// Keys of a model file, and where they go; `published` is left to the reader.
[[nodiscard]] const BoundTable<LlmShape>& model_table();

/// The same for a model that is written into a scenario: without schema, sources and count.
[[nodiscard]] const BoundTable<LlmShape>& inline_model_table();
[[nodiscard]] const FieldTable& inline_model_fields();

}  // namespace foretrain
