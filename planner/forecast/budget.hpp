// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/forecast/report.hpp"

namespace foretrain {

/// Judges every budget line of the scenario against the forecast. A metric is a dotted path to a
/// number of the JSON ("step.time_s", "memory.stages.0.peak_bytes"); limits are in the unit of the
/// key, or say one ("45 days"). A value that is null does not pass.
/// @throws ScenarioError naming the line, and the nearest metric, for paths that do not exist.
[[nodiscard]] std::vector<BudgetVerdict> judge_budget(const Report& report);

/// True when every line passes.
[[nodiscard]] bool within_budget(const std::vector<BudgetVerdict>& verdicts);

}  // namespace foretrain
