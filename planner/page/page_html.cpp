// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/answer/step_part.hpp"
#include "planner/page/internal/page_tree.hpp"
#include "planner/page/report_page.hpp"
#include "planner/search/internal/not_compared_tree.hpp"
#include "planner/text/content_policy.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/task_looks.hpp"
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
                   const std::array<std::pair<std::string_view, std::string_view>, 6>& values) {
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
  // Custom properties of the style sheet: name, on a light ground, on a dark one.
  Json paints = Json::array();
  const auto add = [&paints](const std::string& name, const Paint& paint) {
    paints.push_back({name, paint.light, paint.dark});
  };
  constexpr std::array names{"blue", "orange", "green", "red", "sky", "pink", "yellow", "grey"};
  for (std::size_t i = 0; i < names.size(); ++i) add(names[i], series_paints[i]);
  for (const std::string_view key : waterfall_keys())
    add(fmt::format("part-{}", key), part_paint(key));
  Json memory = Json::array();
  for (const MemoryPart& look : memory_parts()) {
    memory.push_back({look.key, look.key});
    add(fmt::format("memory-{}", look.key), look.paint);
  }
  Json tasks = Json::array();
  for (const TaskLook& look : task_looks) {
    add(fmt::format("task-{}", tasks.size()), look.paint);
    tasks.push_back({look.name, look.paint.light});
  }
  return {
      {"paints", std::move(paints)}, {"memory", std::move(memory)}, {"tasks", std::move(tasks)}};
}

Json page_tree(const ReportPage& page) {
  Json sides = Json::array();
  for (const PageSide& side : page.sides) {
    Json tree = side_tree(side);
    tree["side"] = side_name(sides.size());
    sides.push_back(std::move(tree));
  }
  Json comparison = nullptr;
  if (page.sides.size() > 1) {
    std::vector<Report> reports;
    for (const PageSide& side : page.sides) reports.push_back(side.report);
    comparison = comparison_tree(compare(std::move(reports)));
  }
  return {{"schema", "report-page/1"},
          {"foretrain_version", version},
          {"looks", looks_tree()},
          {"sides", std::move(sides)},
          {"comparison", std::move(comparison)},
          {"not_compared", not_compared_tree(not_compared(page))},
          {"plans", page.plans ? plans_tree(*page.plans) : Json(nullptr)}};
}

}  // namespace

std::string page_html(const ReportPage& page) {
  FORETRAIN_REQUIRE(!page.sides.empty());
  const std::string title = xml_text(title_of(page));
  const std::string data =
      script_safe(page_tree(page).dump(-1, ' ', false, Json::error_handler_t::replace));
  const std::string style_hash = policy_hash(page_style());
  const std::string script_hash = policy_hash(page_script());
  return filled(page_template(), {{{"title", title},
                                   {"style-hash", style_hash},
                                   {"script-hash", script_hash},
                                   {"style", page_style()},
                                   {"data", data},
                                   {"script", page_script()}}});
}

}  // namespace foretrain
