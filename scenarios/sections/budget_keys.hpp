// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// The list `budget` of a scenario.
[[nodiscard]] const SectionTable<Job>& budget_keys();

}  // namespace foretrain
