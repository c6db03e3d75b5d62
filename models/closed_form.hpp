// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/flops.hpp"
#include "models/job.hpp"
#include "models/prediction.hpp"

namespace foretrain {

/// Forecasts one job without a task graph: memory, step time, FLOPs, run and cost.
/// Microseconds per call; the equations with sources are in models/README.md.
[[nodiscard]] Prediction closed_form(const Job& job,
                                     AttentionFlops convention = AttentionFlops::full);

}  // namespace foretrain
