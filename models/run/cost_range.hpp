// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// Both ends of what a run costs: the band of the step for as long as steps last, and for energy,
/// carbon and electricity the range of the draw, as the root of squares of their logarithms.
/// @param cost what is forecast; its ends are set
/// @param training share of the time paid for in which steps run
void set_cost_range(const Job& job, const StepForecast& step, double training, CostForecast& cost);

}  // namespace foretrain
