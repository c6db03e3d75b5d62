// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/step/step_costs.hpp"

namespace foretrain {

/// When a stage begins a step (its weights that nothing hides are gathered first), has ended its
/// last pass, and its gradients have been reduced. Weights are gathered before and beside the first
/// passes.
struct StageEnd {
  Seconds begin;
  Seconds passes;
  Seconds synchronised;
};
using PassEnds = std::vector<StageEnd>;  ///< by stage

/// Runs the schedule pass by pass, in the order that is fitted to `order`: schedule_times(costs),
/// or those of the same step with other costs, to see what these change. Schedules of more than
/// some hundred micro-batches are run for fewer, and continued with the period that they have
/// reached. Microseconds: the order of passes is kept per thread and shape.
[[nodiscard]] PassEnds run_schedule(const StepCosts& costs, const ScheduleTimes& order);

/// What passes lose to the gathers of weights that run beside them: by stage, in the order of its
/// passes. Empty, or shorter than a stage's passes: the others lose nothing.
using GatherLosses = std::vector<std::vector<Seconds>>;
[[nodiscard]] GatherLosses gather_losses(const StepCosts& costs, const ScheduleTimes& order);

}  // namespace foretrain
