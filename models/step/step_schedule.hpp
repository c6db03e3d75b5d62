// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/schedules/schedule.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {

/// The order of passes that a step runs: zero-bubble orders are fitted to the times of its passes
/// (to about 2 %, so that like plans share an order), the others follow from their shape alone.
[[nodiscard]] Schedule step_schedule(const StepCosts& costs);

/// What step_schedule() looks at besides the shape: empty where the shape decides.
/// Equal times and shapes give equal orders.
[[nodiscard]] ScheduleTimes schedule_times(const StepCosts& costs);

}  // namespace foretrain
