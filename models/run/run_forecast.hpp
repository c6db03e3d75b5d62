// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Steps, days, and their expectation with the scenario's operations. What the scenario does not
/// say stays absent, with a warning where something else in `operations` shows that the user wants
/// it, and what it would take for nine tenths of the time to be productive. Percentiles come
/// from simulation (sim/lives/run_simulation.hpp).
[[nodiscard]] RunForecast forecast_run(const Job& job, const StepForecast& step,
                                       std::vector<Warning>& warnings);

}  // namespace foretrain
