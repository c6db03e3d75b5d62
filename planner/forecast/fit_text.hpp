// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/head.hpp"
#include "planner/forecast/fit.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// @param source what stands behind a command's name to read the scenario again
[[nodiscard]] AnswerHead fit_head(const FitReport& report, const std::string& source = {});
/// The verdict for people. No line is longer than style.width.
/// @pre view.stage is a stage of the plan, view.rank a rank of it
[[nodiscard]] std::string fit_text(const FitReport& report, const FitView& view = {},
                                   const TextStyle& style = {}, const std::string& source = {});

}  // namespace foretrain
