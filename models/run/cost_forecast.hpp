// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// GPU-hours that the expected run holds its hosts (the ideal one where nothing is known about
/// interruptions; queues and preempted time are not held), their price, energy and carbon. A price
/// is the sum of the parts that the scenario has prices for, and absent without rent or purchase;
/// what is left out is told in `warnings`.
[[nodiscard]] CostForecast forecast_cost(const Job& job, const StepForecast& step,
                                         const RunForecast& run, std::vector<Warning>& warnings);

}  // namespace foretrain
