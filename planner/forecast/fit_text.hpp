// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/forecast/fit.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// The verdict for people. No line is longer than style.width.
/// @pre view.stage is a stage of the plan, view.rank a rank of it
[[nodiscard]] std::string fit_text(const FitReport& report, const FitView& view = {},
                                   const TextStyle& style = {});

}  // namespace foretrain
