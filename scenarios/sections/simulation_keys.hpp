// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/simulation.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain {

/// The section `simulation` of a scenario.
[[nodiscard]] const SectionTable<Simulation>& simulation_keys();

}  // namespace foretrain
