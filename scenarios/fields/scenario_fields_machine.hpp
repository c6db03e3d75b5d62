// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// The keys of `cluster` and of `simulation`.
[[nodiscard]] std::vector<Field> cluster_fields();
[[nodiscard]] std::vector<Field> simulation_fields();

}  // namespace foretrain
