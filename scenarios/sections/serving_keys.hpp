// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/serving/serving_plan.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// Keys below `serving`, which a scenario has in place of `training`, or beside it.
[[nodiscard]] const SectionTable<ServingPlan>& serving_keys();

}  // namespace foretrain
