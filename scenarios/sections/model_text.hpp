// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/inputs/llm.hpp"

namespace foretrain {

/// The shape of a model with the keys of a model file, one `key: value` line each, without what the
/// format assumes anyway. Name, title, sources and published count are not in it.
[[nodiscard]] std::string model_shape_text(const LlmShape& shape);

/// Whether two shapes are alike and no number that both know differs.
[[nodiscard]] bool may_be_one_model(const LlmShape& a, const LlmShape& b);

}  // namespace foretrain
