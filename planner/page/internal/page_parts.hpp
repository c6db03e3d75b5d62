// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "planner/answer/answer.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/json.hpp"

namespace foretrain {

// Parts of a report page: planner/README.md, "Report page".

/// Most bars of a chart of a step that a page carries; longer steps show how they begin and end.
inline constexpr std::size_t most_page_spans = 40'000;

/// "--set KEY=VALUE ...": what the command line changed.
[[nodiscard]] std::string overrides_text(const Scenario& scenario);

/// With what the comparison leaves out. @pre at least two sides; the page has plans
[[nodiscard]] Answer comparison_of(const ReportPage& page);
[[nodiscard]] Answer plans_of(const ReportPage& page);

/// A forecast in full, but for where its constants come from.
struct SideWords {
  Answer to_step;  ///< what stands before the chart of its step
  Answer after;
};
[[nodiscard]] SideWords side_words(const PageSide& side);

/// The step, lane by lane. @param most spans that are listed
[[nodiscard]] Json gantt_tree(const StepPath& path, std::size_t most = most_page_spans);
/// Its words around the place where the page's script draws it.
[[nodiscard]] std::string gantt_html(const StepPath& path, const std::string& side, int level);

}  // namespace foretrain
