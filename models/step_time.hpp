// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/job.hpp"
#include "models/layer_cost.hpp"
#include "models/prediction.hpp"
#include "models/stage_layout.hpp"

namespace foretrain {

/// One micro-batch's passes through every stage, slowest kernel first to last.
[[nodiscard]] std::vector<PieceTimes> stage_times(const StageLayout& layout, const LayerCost& cost);

/// Step time of GPipe, 1F1B and interleaved 1F1B in closed form:
///   m (x_max + 2 k v t) + (sum x - x_max) / v + 2 (p - 1) t + data + optimizer + constant,
/// x a stage's time per micro-batch, t one transfer between stages, k its exposed share.
/// Source: SC21 (arXiv 2104.04473) section 2.2 for the bubble; the rest in models/README.md,
/// "Step". Without a band; see with_band().
/// @pre broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] StepForecast step_time(const Job& job, const StageLayout& layout);

/// Adds the 10th and 90th percentile: the stack's residuals, widened (root of squares) for what
/// the profiles do not know, each with a warning.
void add_band(const Job& job, StepForecast& step, std::vector<Warning>& warnings);

}  // namespace foretrain
