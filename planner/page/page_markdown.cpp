// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "models/base/require.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/page/report_page.hpp"
#include "planner/search/plan_report.hpp"

namespace foretrain {
namespace {

AnswerSection not_compared_section(const ReportPage& page) {
  AnswerTable table{{words_column(), words_column()}};
  for (const NotCompared& item : not_compared(page))
    table.add({{item.subject, Tone::strong}, item.what + "."});
  return {"Not compared", {std::move(table)}};
}

}  // namespace

std::vector<NotCompared> not_compared(const ReportPage& page) {
  std::vector<NotCompared> list;
  const bool several = page.sides.size() > 1;
  if (!several && !page.plans) return list;
  for (std::size_t at = 0; at < page.sides.size(); ++at) {
    if (page.sides[at].report.study) return {};
    const Job& job = page.sides[at].report.scenario.job;
    const std::string name = several ? side_name(at) + " " + job.name : job.name;
    add_not_compared(list, formats_not_compared(job, name));
    add_not_compared(list, costs_not_compared(job, name));
  }
  add_not_compared(list, {engines_not_compared(page.sides.front().report.prediction.engine)});
  return list;
}

Answer comparison_of(const ReportPage& page) {
  std::vector<Report> reports;
  for (const PageSide& side : page.sides) reports.push_back(side.report);
  Answer answer = comparison_answer(compare(std::move(reports)), CatalogValues::grouped);
  answer.add(not_compared_section(page));
  return answer;
}

Answer plans_of(const ReportPage& page) {
  Answer answer = plan_answer(page.plans.value());
  if (page.sides.size() == 1) answer.add(not_compared_section(page));
  return answer;
}

std::string page_markdown(const ReportPage& page) {
  FORETRAIN_REQUIRE(!page.sides.empty());
  std::string text;
  const auto add = [&](const std::string& part) { text += (text.empty() ? "" : "\n") + part; };
  if (page.sides.size() > 1) add(answer_markdown(comparison_of(page)));
  for (const PageSide& side : page.sides) add(report_markdown(side.report));
  if (page.plans) add(answer_markdown(plans_of(page)));
  return text;
}

}  // namespace foretrain
