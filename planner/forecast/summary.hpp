// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/answer/verdict.hpp"
#include "planner/forecast/report.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// The sentences at the top of the text and Markdown reports, {label, text}; the last word on
/// units, rounding and wording, so that both reports say the same.
using SummaryLines = std::vector<std::pair<std::string, std::string>>;

/// What is forecast: model, machine, plan, batch, memory options, software.
[[nodiscard]] SummaryLines question_lines(const Job& job);
/// "lost work 4.1 %, restarts 2.2 %": what a run's time goes into beside steps, most first.
[[nodiscard]] std::string losses_text(const RunSplit& split);
/// Both ends of the price, of GPU-hours where it has none. @pre GPU-hours are known
[[nodiscard]] std::string cost_range_text(const CostForecast& cost);
/// Both ends of the energy. @pre it is known
[[nodiscard]] std::string energy_range_text(const CostForecast& cost);

/// What comes out: step with band, MFU with its convention, throughput, run, cost.
[[nodiscard]] SummaryLines answer_lines(const Report& report);
/// Decided here alone: text, pages and window take their words and colours from it.
[[nodiscard]] Verdict run_verdict(const Prediction& prediction);

/// "FITS", "FITS BARELY", "OUT OF MEMORY", "NOT MODELLED" or "NOT A LEGAL PLAN".
[[nodiscard]] std::string verdict_words(const Prediction& prediction);
/// The same of any forecast, also of one that serves or post-trains.
[[nodiscard]] Verdict run_verdict(const Report& report);
[[nodiscard]] std::string verdict_words(const Report& report);
/// "stage 2", or "GPU 0 (rank 0)" where one process drives all GPUs.
[[nodiscard]] std::string heaviest_name(const MemoryForecast& memory);
/// "fits: ...", "fits barely: ..." or "does not fit: stage ..., ... missing".
[[nodiscard]] std::string memory_verdict(const MemoryForecast& memory);
/// Where the constants come from, one line per layer that has a source.
[[nodiscard]] SummaryLines provenance_lines(const Prediction& prediction);
/// "PASS  step.time_s 4.1 <= 4.2" without the verdict word.
[[nodiscard]] std::string budget_text(const BudgetVerdict& verdict);

/// Step time after a change, or "not modelled".
[[nodiscard]] std::string step_text(const Change& change);

/// Consecutive stages that need the same memory.
struct StageGroup {
  int first = 0;  ///< position in MemoryForecast::stages
  int last = 0;
  [[nodiscard]] std::string name(const MemoryForecast& memory) const;  ///< "3" or "1-6"
};
/// Stages whose layers are equal and whose categories differ by less than 0.05 GiB share a group.
/// @pre at least one stage
[[nodiscard]] std::vector<StageGroup> stage_groups(const MemoryForecast& memory);
/// The stage that needs most. @pre at least one stage
[[nodiscard]] const StageMemory& heaviest_stage(const MemoryForecast& memory);

/// Device memory of every pipeline stage as a stack of its categories, under the lines of what a
/// process can get and of what the device has; beside it the sizes of the picked stage, of the
/// heaviest where none is. @pre memory has a stage
[[nodiscard]] Scene memory_chart(const MemoryForecast& memory, const SceneSpace& space);
[[nodiscard]] std::string memory_csv(const MemoryForecast& memory);

}  // namespace foretrain
