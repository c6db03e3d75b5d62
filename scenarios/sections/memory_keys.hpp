// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// The section `memory` of a scenario.
[[nodiscard]] const SectionTable<MemoryOptions>& memory_keys();

}  // namespace foretrain
