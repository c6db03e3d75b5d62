// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// How much of a forecast is told.
enum class ReportLength {
  brief,   ///< the head
  screen,  ///< what fits on a screen of 50 lines; the rest folds into a line each
  full
};
/// @param source as report_head() takes it
[[nodiscard]] Answer report_answer(const Report& report, ReportLength length = ReportLength::full,
                                   const std::string& source = {});
/// All of it in words, and as GitHub-flavoured Markdown for comments on pull requests.
[[nodiscard]] std::string report_text(const Report& report, const TextStyle& style = {});
[[nodiscard]] std::string report_markdown(const Report& report);

/// Warning::id of what names settings without effect: "no effect on this forecast: a=1; b=2".
inline constexpr const char* no_effect_id = "no-effect";

// Sections that other answers have, too.

/// Of the section with the step's waterfall, its beginning; and of that with the constants'
/// sources.
inline constexpr const char* step_title = "Where the step ";
inline constexpr const char* sources_title = "Where the constants come from";

/// Where the constants come from.
[[nodiscard]] AnswerSection sources_section(const Prediction& prediction);
/// Why a plan cannot run.
[[nodiscard]] AnswerSection reason_section(const Infeasible& reason);
/// The changes that make a plan fit; nothing for no changes.
[[nodiscard]] AnswerSection changes_section(const std::vector<Change>& changes);
enum class StageOrder { pipeline, heaviest_first };
/// Memory per stage as stacked bars with their legend.
/// @param most lines; the heaviest stages where there are more
[[nodiscard]] AnswerSection memory_section(const MemoryForecast& memory, StageOrder order,
                                           std::size_t most = 16);
/// Stages by categories of memory. @pre at least one stage
[[nodiscard]] AnswerTable memory_categories_table(const MemoryForecast& memory);
/// The named rows of one stage under their categories, both largest first.
[[nodiscard]] AnswerSection memory_rows_section(const StageMemory& stage);
/// One stacked bar that stands for `scale` bytes, with a mark at `usable`.
[[nodiscard]] AnswerStack memory_stack(const StageMemory& stage, Bytes usable, Bytes scale);
/// What people decide by between the ends of its band: memory, step, MFU, throughput, run, cost.
[[nodiscard]] AnswerTable bands_table(const Prediction& prediction);
/// Where a run's time and money go; nothing where that is unknown.
[[nodiscard]] AnswerTable run_table(const RunForecast& run);
[[nodiscard]] AnswerTable cost_table(const Prediction& prediction);
/// The way from peak FLOP/s to the step as a waterfall of bars. @pre the forecast has step and
/// flops
/// @param least share of the step that has a line of its own; what is less is summed into one
[[nodiscard]] AnswerTable waterfall_table(const Job& job, const Prediction& prediction,
                                          double least = 0.0);

}  // namespace foretrain
