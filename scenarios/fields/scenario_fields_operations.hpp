// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// Keys of a scenario below `operations`: failures, checkpoints, data loading, money and power.
[[nodiscard]] std::vector<Field> operations_fields();

}  // namespace foretrain
