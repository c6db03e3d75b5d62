// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/flops.hpp"
#include "models/job.hpp"
#include "models/prediction.hpp"
#include "models/stage_layout.hpp"

namespace foretrain::internal {

using StepModel = StepForecast (*)(const Job& job, const StageLayout& layout);

/// Everything that evaluators share; `step` gives the time of one step of a plan that can run.
[[nodiscard]] Prediction forecast(const Job& job, AttentionFlops convention, StepModel step);

}  // namespace foretrain::internal
