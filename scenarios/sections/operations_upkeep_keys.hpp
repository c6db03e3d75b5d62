// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/inputs/operations.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// Keys of `operations` about what goes on without interruptions: checkpoints, evaluation, input,
/// money and power.
[[nodiscard]] std::vector<SectionKey<Operations>> operations_upkeep_keys();

}  // namespace foretrain
