// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "planner/forecast/internal/prediction_tree.hpp"

namespace foretrain {

/// One top-level key of prediction_tree(), "step"; nothing for keys that do not come from the
/// prediction alone.
[[nodiscard]] std::optional<Json> prediction_section(const Prediction& prediction,
                                                     std::string_view name);

}  // namespace foretrain
