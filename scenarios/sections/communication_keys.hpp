// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// The section `communication` of a scenario. Of the whole job, because the transport is written
/// where it is not its network's.
[[nodiscard]] const SectionTable<Job>& communication_keys();

}  // namespace foretrain
