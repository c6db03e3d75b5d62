// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/answer.hpp"
#include "planner/forecast/fit.hpp"

namespace foretrain {

/// @param source what stands behind a command's name to read the scenario again
/// @pre view.stage is a stage of the plan, view.rank a rank of it
[[nodiscard]] Answer fit_answer(const FitReport& report, const FitView& view = {},
                                const std::string& source = {});

}  // namespace foretrain
