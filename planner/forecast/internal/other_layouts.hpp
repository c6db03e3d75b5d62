// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/forecast/search_limits.hpp"

namespace foretrain {

/// Plans that split the model otherwise, over plan_sizes() of the machine of `job`, each with as
/// little else changed as makes it fit (recomputation, micro-batch, ZeRO stage, offloading, in that
/// order): the fastest few, with the settings that lead there from `now`.
/// @param job `now`, maybe on another machine
[[nodiscard]] std::vector<Change> layouts_that_fit(const Job& now, const Job& job,
                                                   const SearchLimits& limits, PlanScope scope);

}  // namespace foretrain
