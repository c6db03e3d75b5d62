// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/forecast/search_limits.hpp"

namespace foretrain {

/// What people try, in the order of its cost in work, when a plan runs out of memory. Each is
/// checked against the plan rules, the memory limits (by default with room to spare) and the closed
/// form; those that keep them come back, fastest step first. Combinations of two and three only
/// where no single change fits, and a larger machine last, its network resolved anew (not for jobs
/// that no scenario was read for). Empty when nothing of all that fits.
/// @pre the plan of the scenario's job is legal
[[nodiscard]] std::vector<Change> changes_that_fit(const Scenario& scenario,
                                                   const SearchLimits& limits = {});

}  // namespace foretrain
