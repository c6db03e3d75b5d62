// SPDX-License-Identifier: Apache-2.0

#include "planner/page/internal/page_shell.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "planner/forecast/plan_moves.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/page/report_page.hpp"
#include "planner/text/content_policy.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// JSON inside a <script> element: neither its end nor a comment can begin in a string.
std::string script_safe(const std::string& json) {
  std::string result;
  result.reserve(json.size());
  for (const char c : json) {
    if (c == '<')
      result += "\\u003c";
    else if (c == '>')
      result += "\\u003e";
    else if (c == '&')
      result += "\\u0026";
    else
      result += c;
  }
  return result;
}

/// Replaces every {{name}} of `text` once; what is put in is not looked at again.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = text.find("{{");
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find("}}", open);
    FORETRAIN_REQUIRE(close != std::string_view::npos);
    const std::string_view name = text.substr(open + 2, close - open - 2);
    bool known = false;
    for (const auto& [key, value] : values)
      if (key == name) {
        result += value;
        known = true;
      }
    FORETRAIN_REQUIRE(known);
    text.remove_prefix(close + 2);
  }
  return result;
}

/// The palette as custom properties, on a light ground and on a dark one. Paper is light.
std::string palette_style() {
  std::string light;
  std::string dark;
  const auto add = [&](const std::string& name, const Paint& paint) {
    light += fmt::format("--{}:{};", name, paint.light);
    dark += fmt::format("--{}:{};", name, paint.dark);
  };
  constexpr std::array names{"blue", "orange", "green", "red", "sky", "pink", "yellow", "grey"};
  for (std::size_t i = 0; i < names.size(); ++i) add(names[i], series_paints[i]);
  // Of pictures, which name a colour by what it is on a light ground.
  for (const Paint& paint : palette::all) add(std::string("ink-") + (paint.light + 1), paint);
  for (const InkLook& look : inks) add(look.property, look.paint);
  std::size_t task = 0;
  for (const TaskLook& look : task_looks) add(fmt::format("task-{}", task++), look.paint);
  return fmt::format(":root{{{}}}\n@media screen and (prefers-color-scheme: dark){{:root{{{}}}}}\n",
                     light, dark);
}

std::string contents_html(const PageShell& shell) {
  if (shell.links.size() < 3) return "";
  std::string list;
  for (const auto& [id, words] : shell.links)
    list += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", id, xml_text(words));
  return "<nav aria-label=\"Contents\"><ul>\n" + list + "</ul></nav>\n";
}

std::string limits_html(const PageShell& shell) {
  if (shell.limits.empty()) return "";
  std::string list;
  for (const std::string& item : shell.limits) list += "<li>" + item + "</li>\n";
  return "<h2 id=\"limits\">How to read this, and its limits</h2>\n<ul>\n" + list + "</ul>\n";
}

}  // namespace

std::string shell_html(const PageShell& shell) {
  // Paper has colours of its own, which come last.
  const std::string style = palette_style().append(page_style());
  const bool scripted = !shell.data.empty();
  const std::string script_rule =
      scripted ? fmt::format(" script-src '{}';", policy_hash(page_script())) : "";
  const std::string scripts =
      scripted ? fmt::format(
                     "<div id=\"tip\" role=\"tooltip\" hidden></div>\n"
                     "<script type=\"application/json\" id=\"data\">{}</script>\n"
                     "<script>{}</script>\n",
                     script_safe(shell.data), page_script())
               : "";
  return filled(page_template(), {{"title", xml_text(shell.title)},
                                  {"kind", xml_text(shell.kind)},
                                  {"style-hash", policy_hash(style)},
                                  {"script-rule", script_rule},
                                  {"style", style},
                                  {"contents", contents_html(shell)},
                                  {"main", shell.main},
                                  {"limits", limits_html(shell)},
                                  {"version", version},
                                  {"scripts", scripts}});
}

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
