// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// Keys of `training`. What is not in it, a job has and a scenario cannot say: gradients that are
/// not copied, the capacity of experts.
[[nodiscard]] const SectionTable<Training>& training_keys();

}  // namespace foretrain
