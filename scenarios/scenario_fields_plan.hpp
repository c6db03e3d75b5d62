// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scenarios/field_table.hpp"

namespace foretrain {

/// The part of scenario_fields() about the plan: `parallel`, and `memory` with `stack` and `site`.
[[nodiscard]] std::vector<Field> parallel_fields();
[[nodiscard]] std::vector<Field> memory_fields();

}  // namespace foretrain
