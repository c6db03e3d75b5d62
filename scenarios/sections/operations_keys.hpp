// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/operations.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// The section `operations` of a scenario.
[[nodiscard]] const SectionTable<Operations>& operations_keys();

}  // namespace foretrain
