// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/fit.hpp"
#include "planner/text_layout.hpp"

namespace foretrain {

/// What a reader asks to see of a fit report.
struct FitView {
  std::optional<int> stage;  ///< whose rows are shown; absent: the heaviest
  bool timeline = false;     ///< the phases of that stage's step
};

/// The verdict for people. No line is longer than style.width.
/// @pre view.stage is a stage of the plan
[[nodiscard]] std::string fit_text(const FitReport& report, const FitView& view = {},
                                   const TextStyle& style = {});

}  // namespace foretrain
