// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/report.hpp"
#include "planner/text_layout.hpp"

namespace foretrain {

/// The forecast for people. No line is longer than style.width.
[[nodiscard]] std::string report_text(const Report& report, const TextStyle& style = {});

/// Memory per stage as stacked bars, then the named rows of the heaviest stage.
[[nodiscard]] std::string memory_text(const MemoryForecast& memory, const TextStyle& style);
/// The way from peak FLOP/s to the step as a waterfall of bars. @pre the forecast has step and
/// flops
[[nodiscard]] std::string waterfall_text(const Job& job, const Prediction& prediction,
                                         const TextStyle& style);

}  // namespace foretrain
