// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/forecast/plan_difference.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/page/internal/page_shell.hpp"
#include "planner/page/internal/page_tree.hpp"
#include "planner/page/report_page.hpp"
#include "planner/search/internal/not_compared_tree.hpp"
#include "planner/text/task_looks.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// The scenarios' names, each once, the first three of them.
std::string title_of(const ReportPage& page) {
  std::vector<std::string> names;
  for (const PageSide& side : page.sides) {
    const std::string& name = side.report.scenario.job.name;
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  const std::size_t named = std::min<std::size_t>(names.size(), 3);
  std::string title;
  for (std::size_t i = 0; i < named; ++i) title += (title.empty() ? "" : ", ") + names[i];
  if (named < names.size()) title += fmt::format(" and {} more", names.size() - named);
  if (names.size() == 1 && page.sides.size() > 1)
    title += fmt::format(" in {} variants", page.sides.size());
  return title;
}

Json looks_tree() {
  Json memory = Json::array();
  for (const MemoryPart& look : memory_parts()) memory.push_back({look.key, look.key});
  Json tasks = Json::array();
  for (const TaskLook& look : task_looks) tasks.push_back({look.name, look.paint.light});
  return {{"memory", std::move(memory)}, {"tasks", std::move(tasks)}};
}

Json page_tree(const ReportPage& page) {
  Json sides = Json::array();
  for (const PageSide& side : page.sides) {
    Json tree = side_tree(side);
    tree["side"] = side_name(sides.size());
    sides.push_back(std::move(tree));
  }
  return {{"schema", "report-page/2"},
          {"foretrain_version", version},
          {"looks", looks_tree()},
          {"sides", std::move(sides)},
          {"not_compared", not_compared_tree(not_compared(page))},
          {"plans", page.plans ? plans_tree(*page.plans) : Json(nullptr)}};
}

}  // namespace

namespace {

Answer first_page(const ReportPage& page) {
  if (page.sides.size() == 1) {
    const Report& report = page.sides.front().report;
    Answer answer{report_head(report)};
    answer.add("What it rests on", AnswerList{conditions_of_step(report)});
    answer.add(sources_section(report.prediction));
    return answer;
  }
  std::vector<Report> reports;
  for (const PageSide& side : page.sides) reports.push_back(side.report);
  return comparison_answer(compare(std::move(reports)), CatalogValues::counted);
}

std::vector<std::pair<std::string, std::string>> links_of(const ReportPage& page) {
  std::vector<std::pair<std::string, std::string>> links;
  const bool several = page.sides.size() > 1;
  for (std::size_t at = 0; at < page.sides.size(); ++at)
    links.emplace_back(
        "side-" + side_name(at),
        several ? side_name(at) + " · " + page.sides[at].report.scenario.job.name : "Forecast");
  if (page.plans) links.emplace_back("plans", "Plans");
  if (!not_compared(page).empty()) links.emplace_back("not-compared", "Not compared");
  links.emplace_back("limits", "Limits");
  return links;
}

std::vector<std::string> limits_of(const ReportPage& page) {
  std::vector<std::string> limits{
      "A forecast is computed from the settings listed here and from measured or published "
      "constants; it is not a measurement of this job. Where a value is unknown it says so, and "
      "nothing takes its place.",
      "The band of a step time is where four of five measurements are expected: its 10th to 90th "
      "percentile, from the errors that the software's profile showed on measured runs. MFU and "
      "throughput carry the same band; <code>foretrain fit</code> gives that of the memory.",
      "The chart of the step shows one pipeline with its stages; ranks that do the same at the "
      "same "
      "time are drawn as one. Contention between jobs or paths of the network is only in "
      "<code>foretrain simulate --engine event</code>."};
  if (page.plans)
    limits.emplace_back(
        "Plans are compared with the same constants, so that their order is more certain than "
        "their times.");
  limits.emplace_back(
      "How far forecasts were from measurements, source by source: <code>foretrain "
      "validate</code>.");
  return limits;
}

}  // namespace

std::string page_html(const ReportPage& page) {
  FORETRAIN_REQUIRE(!page.sides.empty());
  const Answer first = first_page(page);
  PageShell shell;
  shell.kind = page.sides.size() > 1 ? "comparison" : "forecast";
  shell.title = title_of(page);
  shell.main =
      head_html(first.head) + sections_html(first) +
      "<noscript><p class=\"notice\">The rest of this page is drawn by a script of its own, "
      "which is switched off here. <code>foretrain report --markdown</code> gives the same "
      "numbers without one.</p></noscript>\n";
  shell.links = links_of(page);
  shell.limits = limits_of(page);
  shell.data = page_tree(page).dump(-1, ' ', false, Json::error_handler_t::replace);
  return shell_html(shell);
}

}  // namespace foretrain
