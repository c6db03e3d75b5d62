// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "planner/answer/prediction_parts.hpp"

namespace foretrain {

/// One stretch of the way from the ideal step to the forecast one.
struct WaterfallPart {
  std::string key;    ///< "ideal", "kernels", or a key of the JSON breakdown
  std::string label;  ///< for people
  Seconds time;       ///< may be negative for "kernels": see waterfall()
};

/// The step from its model FLOPs at peak rate on every GPU ("ideal") through everything that adds
/// to it; parts that are zero are left out. The parts sum to the step; those below a microsecond
/// count as zero, and the largest has their time. "kernels" is compute minus ideal; it is negative
/// only where the kernels skip work that the convention counts (the upper half of causal scores on
/// very long sequences).
/// @pre the forecast has step and flops
[[nodiscard]] std::vector<WaterfallPart> waterfall(const Job& job, const Prediction& prediction);

/// The same with the parts that are zero: always the same keys in the same order.
[[nodiscard]] std::vector<WaterfallPart> whole_waterfall(
    const Job& job, const Prediction& prediction, std::span<const StepPart> rows = step_parts());

/// Model FLOPs of a step at the peak rate of all GPUs. @pre the forecast has flops
[[nodiscard]] Seconds ideal_step(const Job& job, const Prediction& prediction);

}  // namespace foretrain
