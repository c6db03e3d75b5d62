// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Mean draw of the whole machine at the meter while steps run: kernels at the device's busy power,
/// everything else of the step at its waiting power, hosts and network as the scenario says, times
/// PUE. A device whose draw nobody measured counts with its board power throughout.
[[nodiscard]] Watts training_power(const Job& job, const StepForecast& step);

/// The same while no step runs: restarts, queues, repairs.
[[nodiscard]] Watts idle_power(const Job& job);

struct PowerRange {
  Watts low;
  Watts high;
};

/// What the machine may draw at most: hosts and network as the scenario says; else the published
/// maximum of the host; else a range, as much more than the GPUs as published hosts draw. Times PUE
/// where the scenario says it. Zero: nothing is known of the GPUs. models/README.md, "Energy".
[[nodiscard]] PowerRange most_power(const Job& job);

/// GPU-hours that the expected run holds its hosts (the ideal one where nothing is known about
/// interruptions; queues and preempted time are not held), their price, energy and carbon. A price
/// is the sum of the parts that the scenario has prices for, and absent without rent or purchase;
/// what is left out is told in `warnings`.
[[nodiscard]] CostForecast forecast_cost(const Job& job, const StepForecast& step,
                                         const RunForecast& run, std::vector<Warning>& warnings);

}  // namespace foretrain
