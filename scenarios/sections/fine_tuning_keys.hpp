// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/fine_tuning.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// Keys of `fine_tuning`.
[[nodiscard]] const SectionTable<FineTuning>& fine_tuning_keys();

}  // namespace foretrain
