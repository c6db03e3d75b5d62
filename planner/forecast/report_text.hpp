// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// The forecast for people. No line is longer than style.width.
[[nodiscard]] std::string report_text(const Report& report, const TextStyle& style = {});

/// The changes that make a plan fit, as a table under its heading; nothing for no changes.
[[nodiscard]] std::string changes_text(const std::vector<Change>& changes, const TextStyle& style);

/// Memory per stage as stacked bars, then the named rows of the heaviest stage.
[[nodiscard]] std::string memory_text(const MemoryForecast& memory, const TextStyle& style);
enum class StageOrder { pipeline, heaviest_first };
/// The stacked bars alone, with their legend.
[[nodiscard]] std::string memory_stacks_text(const MemoryForecast& memory, StageOrder order,
                                             const TextStyle& style);
/// The named rows of one stage under their categories.
[[nodiscard]] std::string memory_rows_text(const StageMemory& stage, const TextStyle& style);
/// One stacked bar over `cells` columns that stand for `scale` bytes, with a mark at `usable`.
[[nodiscard]] std::string memory_phase_bar(const StageMemory& phase, Bytes usable, Bytes scale,
                                           int cells, const TextStyle& style);
/// The way from peak FLOP/s to the step as a waterfall of bars. @pre the forecast has step and
/// flops
[[nodiscard]] std::string waterfall_text(const Job& job, const Prediction& prediction,
                                         const TextStyle& style);

}  // namespace foretrain
