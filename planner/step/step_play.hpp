// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "models/forecast/path_forecast.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// Passes of one step over all stages and chunks: forward and backward of every micro-batch. The
/// task graph of the step has a small multiple of these. Zero where the plan cannot run.
[[nodiscard]] std::int64_t step_passes(const Report& report);

/// One step of a forecast as a task graph with the start and end of every task, for pictures.
/// Nothing where the plan cannot run.
[[nodiscard]] std::optional<StepPath> play_step(const Report& report, Detail detail = Detail::pass);

}  // namespace foretrain
