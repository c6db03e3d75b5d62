// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// The part of scenario_fields() about the plan: `parallel`, `memory`, `stack` and `site`.
[[nodiscard]] std::vector<Field> plan_fields();

}  // namespace foretrain
