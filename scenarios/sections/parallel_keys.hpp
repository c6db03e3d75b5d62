// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// Keys of `parallel`. What is not in it, a job has and a scenario cannot say: `vocabulary`.
[[nodiscard]] const SectionTable<Parallel>& parallel_keys();

}  // namespace foretrain
