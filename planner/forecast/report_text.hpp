// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// How much of a forecast is printed.
enum class ReportLength {
  brief,   ///< the head
  screen,  ///< what fits on a screen of 50 lines; the rest folds into a line each
  full
};
/// The forecast for people, its head first. No line is longer than style.width.
/// @param source as report_head() takes it
[[nodiscard]] std::string report_text(const Report& report, const TextStyle& style = {},
                                      ReportLength length = ReportLength::full,
                                      const std::string& source = {});

/// The changes that make a plan fit, as a table under its heading; nothing for no changes.
[[nodiscard]] std::string changes_text(const std::vector<Change>& changes, const TextStyle& style);

/// Memory per stage as stacked bars, then the named rows of the heaviest stage.
[[nodiscard]] std::string memory_text(const MemoryForecast& memory, const TextStyle& style);
enum class StageOrder { pipeline, heaviest_first };
/// The stacked bars alone, with their legend.
/// @param most lines; the heaviest stages where there are more
[[nodiscard]] std::string memory_stacks_text(const MemoryForecast& memory, StageOrder order,
                                             const TextStyle& style, std::size_t most = 16);
/// The named rows of one stage under their categories.
[[nodiscard]] std::string memory_rows_text(const StageMemory& stage, const TextStyle& style);
/// One stacked bar over `cells` columns that stand for `scale` bytes, with a mark at `usable`.
[[nodiscard]] std::string memory_phase_bar(const StageMemory& phase, Bytes usable, Bytes scale,
                                           int cells, const TextStyle& style);
/// The way from peak FLOP/s to the step as a waterfall of bars. @pre the forecast has step and
/// flops
/// @param least share of the step that has a line of its own; what is less is summed into one
[[nodiscard]] std::string waterfall_text(const Job& job, const Prediction& prediction,
                                         const TextStyle& style, double least = 0.0);

}  // namespace foretrain
