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

struct StepCosts;

/// Forecasts one job without a task graph: memory, step time, FLOPs, run and cost.
/// Microseconds per call; the equations with sources are on the pages that models/README.md lists.
[[nodiscard]] Prediction closed_form(const Job& job,
                                     AttentionFlops convention = AttentionFlops::full);

/// The step of closed_form() alone, to the last bit: what a search ranks by. `costs` are the job's.
/// @pre broken_rules(job) and not_modelled(job) are empty
[[nodiscard]] Seconds closed_form_step(const Job& job, const StepCosts& costs);

}  // namespace foretrain
