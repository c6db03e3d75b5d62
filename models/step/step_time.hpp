// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/prediction.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {

/// Step time in closed form, without a band: formulas for naive model parallelism, GPipe and 1F1B;
/// interleaving, zero-bubble schedules and DualPipe run pass by pass (pass_runner.hpp).
/// Equations and where they are exact: models/step/README.md, "Time of a step".
[[nodiscard]] Seconds step_seconds(const StepCosts& costs);

/// A step takes no less: from the first activation's arrival on, a stage runs all its passes one
/// after the other; where backward passes are whole, the last gradient then goes back to the first
/// stage, and no stage runs more forward passes than its order has ahead before the first gradient
/// comes back. Where micro-batches enter at both ends, passes alone count. Costs a pass over the
/// stages, step_seconds() one over the passes.
[[nodiscard]] Seconds least_step_seconds(const StepCosts& costs);

/// step_seconds(), to the last bit, with its breakdown, which sums to the time but for rounding.
[[nodiscard]] StepForecast step_time(const StepCosts& costs);

/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] StepForecast step_time(const Job& job, const StageLayout& layout);

/// Means over the stages of what passes are spent on in a step, and how far the busiest stage lies
/// above them.
struct StageWork {
  TimeParts mean;
  Seconds busiest;

  [[nodiscard]] Seconds imbalance() const { return busiest - mean.total(); }
};

[[nodiscard]] StageWork stage_work(const StepCosts& costs);

/// Adds the 10th and 90th percentile: the stack's residuals, widened (root of squares) for what
/// the profiles do not know, each with a warning.
void add_band(const Job& job, StepForecast& step, std::vector<Warning>& warnings);

}  // namespace foretrain
