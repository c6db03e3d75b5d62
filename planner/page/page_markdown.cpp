// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "models/base/require.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/report_page.hpp"
#include "planner/search/search_report.hpp"
#include "planner/text/markdown.hpp"

namespace foretrain {
namespace {

std::string not_compared_markdown(const std::vector<NotCompared>& list) {
  if (list.empty()) return "";
  std::string text = "\n### Not compared\n\n";
  for (const NotCompared& item : list)
    text += fmt::format("- {}: {}.\n", markdown_cell(item.subject), markdown_cell(item.what));
  return text;
}

}  // namespace

std::vector<NotCompared> not_compared(const ReportPage& page) {
  std::vector<NotCompared> list;
  const bool several = page.sides.size() > 1;
  if (!several && !page.plans) return list;
  for (std::size_t at = 0; at < page.sides.size(); ++at) {
    const Job& job = page.sides[at].report.scenario.job;
    const std::string name = several ? side_name(at) + " " + job.name : job.name;
    add_not_compared(list, formats_not_compared(job, name));
    add_not_compared(list, costs_not_compared(job, name));
  }
  add_not_compared(list, {engines_not_compared(page.sides.front().report.prediction.engine)});
  return list;
}

std::string page_markdown(const ReportPage& page) {
  FORETRAIN_REQUIRE(!page.sides.empty());
  std::string text;
  if (page.sides.size() > 1) {
    std::vector<Report> reports;
    for (const PageSide& side : page.sides) reports.push_back(side.report);
    text = answer_markdown(comparison_answer(compare(std::move(reports)), CatalogValues::grouped)) +
           "\n";
  }
  bool first = true;
  for (const PageSide& side : page.sides) {
    text += (first ? "" : "\n") + report_markdown(side.report);
    first = false;
  }
  if (page.plans) text += "\n" + answer_markdown(plan_answer(*page.plans));
  return text + not_compared_markdown(not_compared(page));
}

}  // namespace foretrain
