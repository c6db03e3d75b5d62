// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// 10th and 90th percentile of something over its forecast.
struct RatioRange {
  double low = 1.0;
  double high = 1.0;
};

/// Of a product of two: on each side the root of the squares of their logarithms, so that what is
/// forecast (1) stays inside.
[[nodiscard]] RatioRange both(const RatioRange& one, const RatioRange& other);

/// Of the draw of the whole machine, over training_power(): what GPUs draw of their board power,
/// and hosts where the scenario does not say it. Cooling is in neither unless the scenario gives
/// its PUE. models/run/README.md, "Energy".
[[nodiscard]] RatioRange machine_range(const Job& job, const StepForecast& step);

/// GPU-hours that the expected run holds its hosts (the ideal one where nothing is known about
/// interruptions; queues and preempted time are not held), their price, energy and carbon. A price
/// is the sum of the parts that the scenario has prices for, and absent without rent or purchase;
/// what is left out is told in `warnings`.
[[nodiscard]] CostForecast forecast_cost(const Job& job, const StepForecast& step,
                                         const RunForecast& run, std::vector<Warning>& warnings);

/// Steps, days, and their expectation with the scenario's operations. What the scenario does not
/// say stays absent, with a warning where something else in `operations` shows that the user wants
/// it, and what it would take for nine tenths of the time to be productive. Percentiles come
/// from simulation (sim/lives/run_simulation.hpp).
[[nodiscard]] RunForecast forecast_run(const Job& job, const StepForecast& step,
                                       std::vector<Warning>& warnings);

}  // namespace foretrain
