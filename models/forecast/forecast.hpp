// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "models/base/prediction.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/flops.hpp"

namespace foretrain {

/// Time and breakdown of one step of a plan that can run, without a band.
using StepModel = std::function<StepForecast(const Job& job, const StageLayout& layout)>;

/// Everything that evaluators share: rules, memory, FLOPs, and with the step's time from `step` its
/// band, efficiency, run and cost.
[[nodiscard]] Prediction forecast(const Job& job, AttentionFlops convention, const StepModel& step);

}  // namespace foretrain
