// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "planner/forecast/internal/prediction_tree.hpp"

namespace foretrain {

/// A number of the forecast with the unit that its path in the JSON names; "unknown" for null.
[[nodiscard]] std::string readable(std::string_view path, const Json& value);

}  // namespace foretrain
