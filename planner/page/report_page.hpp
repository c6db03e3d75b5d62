// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "planner/forecast/report.hpp"
#include "planner/search/not_compared.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {

/// A scenario of a page.
struct PageSide {
  Report report;
  std::optional<StepPath> path{};  ///< draws the step; absent where the plan cannot run
  std::string not_drawn{};         ///< why a step that is known has no path
};

/// With its budget judged and its step ready to be drawn, where the plan can run.
/// @param played the step that the event engine played; absent: the critical path's
[[nodiscard]] PageSide page_side(Report report, std::optional<StepPath> played = std::nullopt);

/// What a page shows.
struct ReportPage {
  std::vector<PageSide> sides;      ///< the others are held against the first. @pre 1 to 26
  std::optional<PlanReport> plans;  ///< a search that starts from the first side
};

/// What a page that compares, scenarios or plans, leaves out of its comparison; nothing of a page
/// that does not.
[[nodiscard]] std::vector<NotCompared> not_compared(const ReportPage& page);

/// One HTML file with everything in it: charts, tables, and the data that they are drawn from as
/// JSON (schema report-page/2: planner/README.md, "Report page"). It asks nothing of a network and
/// says so in its content security policy. Equal pages give equal bytes. Text of users is data to
/// it and never markup. @pre page.sides is not empty
[[nodiscard]] std::string page_html(const ReportPage& page);

/// The same without charts as GitHub-flavoured Markdown: every forecast, the comparison, the plans.
/// @pre page.sides is not empty
[[nodiscard]] std::string page_markdown(const ReportPage& page);

}  // namespace foretrain
