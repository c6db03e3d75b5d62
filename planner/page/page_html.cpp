// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "planner/forecast/plan_difference.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/page/internal/page_shell.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/svg_text.hpp"
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

/// What the script draws.
Json charts_tree(const ReportPage& page) {
  Json tasks = Json::array();
  for (const TaskLook& look : task_looks) tasks.push_back({look.name, look.paint.light});
  Json sides = Json::array();
  for (std::size_t at = 0; at < page.sides.size(); ++at)
    if (const auto& path = page.sides[at].path)
      sides.push_back({{"side", side_name(at)}, {"gantt", gantt_tree(*path)}});
  return {{"schema", "report-page/3"},
          {"foretrain_version", version},
          {"tasks", std::move(tasks)},
          {"sides", std::move(sides)}};
}

std::string side_html(const PageSide& side, const SideWords& words, const std::string& name,
                      int level) {
  return sections_html(words.to_step, "side-" + name, level) +
         (side.path ? gantt_html(*side.path, name, level) : "") +
         sections_html(words.after, "after-" + name, level);
}

using Links = std::vector<std::pair<std::string, std::string>>;

void add_links(Links& links, Links more) {
  std::move(more.begin(), more.end(), std::back_inserter(links));
}

/// The first printed page is the answer and what it rests on.
void add_forecast(const PageSide& side, PageShell& shell) {
  const Report& report = side.report;
  Answer first{report_head(report)};
  if (report.prediction.feasible() && !report.study)
    first.add("What it rests on", AnswerList{conditions_of_step(report)});
  if (!report.study) first.add(sources_section(report.prediction));
  const SideWords words = side_words(side);
  shell.main = head_html(first.head) + sections_html(first, "first", 2) +
               side_html(side, words, side_name(0), 2);
  shell.links = section_links(first, "first");
  add_links(shell.links, section_links(words.to_step, "side-A"));
  if (side.path) shell.links.emplace_back("step-A", "One step, stage by stage");
  add_links(shell.links, section_links(words.after, "after-A"));
}

/// On paper the comparison alone, so that it stays short.
void add_comparison(const ReportPage& page, PageShell& shell) {
  const Answer answer = comparison_of(page);
  shell.main = head_html(answer.head) + sections_html(answer, "section", 2);
  for (std::size_t at = 0; at < page.sides.size(); ++at) {
    const Report& report = page.sides[at].report;
    const std::string name = side_name(at);
    const std::string title = name + " · " + report.scenario.job.name;
    shell.main += fmt::format(
        "<section class=\"side screen\">\n<h2 id=\"side-{}\">{} <span class=\"verdict "
        "{}\">{}</span></h2>\n{}</section>\n",
        name, xml_text(title), name_of(run_verdict(report)), xml_text(verdict_words(report)),
        side_html(page.sides[at], side_words(page.sides[at]), name, 3));
    shell.links.emplace_back("side-" + name, title);
  }
  shell.main +=
      "<p class=\"paper\">Each side in full: this page on a screen, or foretrain report.</p>\n";
}

void add_plans(const ReportPage& page, PageShell& shell) {
  Answer answer = plans_of(page);
  // The first page has them.
  std::erase_if(answer.sections,
                [](const AnswerSection& section) { return section.title == sources_title; });
  shell.main += fmt::format("<section class=\"side\">\n<h2 id=\"plans\">Plans for {}</h2>\n",
                            xml_text(answer.head.subject)) +
                head_html(answer.head) + sections_html(answer, "plans", 3) + "</section>\n";
  shell.links.emplace_back("plans", "Plans");
}

std::vector<std::string> limits_of(const ReportPage& page) {
  if (std::any_of(page.sides.begin(), page.sides.end(),
                  [](const PageSide& side) { return side.report.study.has_value(); }))
    return {
        "A forecast is computed from the settings listed here and from measured or published "
        "constants; it is not a measurement of this deployment. Where a value is unknown it says "
        "so, and nothing takes its place.",
        "Ranges are where four of five measurements are expected: 10th to 90th percentile, from "
        "the errors of forecasts of measured runs.",
        "How far forecasts were from measurements: <code>foretrain validate --inference</code>."};
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
  PageShell shell;
  shell.kind = page.sides.size() > 1 ? "comparison" : "forecast";
  shell.title = title_of(page);
  if (page.sides.size() > 1)
    add_comparison(page, shell);
  else
    add_forecast(page.sides.front(), shell);
  if (page.plans) add_plans(page, shell);
  shell.links.emplace_back("limits", "Limits");
  shell.limits = limits_of(page);
  if (std::any_of(page.sides.begin(), page.sides.end(),
                  [](const PageSide& side) { return side.path.has_value(); }))
    shell.data = charts_tree(page).dump(-1, ' ', false, Json::error_handler_t::replace);
  return shell_html(shell);
}

}  // namespace foretrain
