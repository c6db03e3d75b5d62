// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/answer/value.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

[[nodiscard]] Json json_of(const Value& value);

}  // namespace foretrain
