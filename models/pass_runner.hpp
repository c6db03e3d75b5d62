// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/step_costs.hpp"

namespace foretrain {

/// Durations of the passes of one chunk as its stage sees them: with blocking transfers, sending is
/// part of a pass.
struct PassSeconds {
  Seconds forward;
  Seconds backward;
  Seconds input_gradient;
  Seconds weight_gradient;

  [[nodiscard]] Seconds of(PassKind kind) const;
};

/// By chunk, as StepCosts::chunks.
[[nodiscard]] std::vector<PassSeconds> pass_seconds(const StepCosts& costs);

/// When every stage has ended its last pass of a step, its weights gathered before the first.
/// Gradient traffic is not in it.
using PassEnds = std::vector<Seconds>;

/// Runs the schedule pass by pass. Schedules of more than some hundred micro-batches are run for
/// fewer, and continued with the period that they have reached.
/// Microseconds: the order of passes is kept per thread and shape.
[[nodiscard]] PassEnds run_schedule(const StepCosts& costs);

}  // namespace foretrain
