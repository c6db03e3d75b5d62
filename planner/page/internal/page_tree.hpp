// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "planner/page/compare.hpp"
#include "planner/page/internal/page_files.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

// Parts of the data of a report page: planner/README.md, "Report page".

/// Most bars of a chart of a step that a page carries; longer steps show how they begin and end.
inline constexpr std::size_t most_page_spans = 40'000;

/// One forecast: cards, sentences, memory, losses, run, settings, provenance, and its step's chart.
[[nodiscard]] Json side_tree(const PageSide& side);
/// The step, lane by lane. @param most spans that are listed
[[nodiscard]] Json gantt_tree(const StepPath& path, std::size_t most = most_page_spans);
/// The plans of a search with the scenario's own.
[[nodiscard]] Json plans_tree(const PlanReport& plans);

}  // namespace foretrain
