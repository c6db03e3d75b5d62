// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/prediction.hpp"
#include "models/base/quantity.hpp"
#include "models/layers/pass_times.hpp"

namespace foretrain::internal {

/// How long a step takes while its causes are put in one after another, the order of passes being
/// the step's own. Each is the longest path through what is there so far: of all stages, or of the
/// stage that takes longest where stages are staggered. models/step/README.md, "Breakdown".
struct StepSpans {
  TimeParts work;        ///< of a stage in its passes, mean over the stages
  Seconds updating;      ///< of a stage in its optimizer, mean over the stages
  Seconds passes;        ///< transfers and traffic between data-parallel ranks take no time
  Seconds transfers;     ///< and transfers between stages
  Seconds synchronised;  ///< and gradients and weights between data-parallel ranks
  Seconds updated;       ///< and the optimizer
  Seconds all;           ///< and the constant per step
};

/// Time and breakdown of a step of these spans, without a band: time = all (1 + jitter) release.
/// No part is negative, and they add up to the time whatever the spans are: one that is shorter
/// than the one before it (rounding, the approximations of the closed form, staggered stages)
/// counts as equal to it, one that is longer than `all` as `all`.
/// @pre all > 0
[[nodiscard]] StepForecast forecast_of(const StepSpans& spans, double jitter, double release);

/// Makes the parts add up to `time` to the last bit: parts below 1e-12 of it are what sums of
/// rounded numbers leave and become nothing, the last one that is left takes the rest.
/// @pre the parts are not negative and add up to `time` within rounding
void settle(TimeBreakdown& parts, Seconds time);

}  // namespace foretrain::internal
