// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "planner/evidence/validate_pictures.hpp"

using namespace foretrain;

namespace {

RecordCheck picture_check(const std::string& id, const std::string& group, double measured,
                          double predicted) {
  RecordCheck check;
  check.id = id;
  check.source = id.substr(0, id.find('-'));
  check.quantity = "step_time_s";
  check.group = group;
  check.measured = measured;
  check.predicted = check.low = check.high = predicted;
  check.at_half_peak = measured;
  return check;
}

Validation summarized(std::vector<RecordCheck> checks) {
  Validation validation;
  validation.records = std::move(checks);
  validation.summary = summarize(validation.records);
  return validation;
}

/// Three groups, one far error on each side, one skipped record, one of another quantity.
Validation mixed() {
  std::vector<RecordCheck> checks;
  for (int i = 0; i < 11; ++i)
    checks.push_back(
        picture_check("own-" + std::to_string(i), "dense bf16/fp16", 1.0, 0.955 + 0.009 * i));
  checks.push_back(picture_check("own-fp8", "dense fp8", 0.02, 0.03));
  checks.push_back(picture_check("moe-1", "MoE", 100.0, 20.0));
  checks.push_back(picture_check("moe-2", "MoE", 100.0, 85.0));
  checks.push_back(picture_check("odd-<&>", "of its own", 5.0, 5.0));
  checks.push_back(picture_check("own-skipped", "MoE", 1.0, 1.0));
  skip(checks.back(), "a reason");
  checks.push_back(picture_check("own-memory", "", 1e9, 1e9));
  checks.back().quantity = "mem_max";
  return summarized(checks);
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
    ++found;
  return found;
}

std::string scatter_svg(const Validation& validation) {
  return scene_svg(scatter_chart(validation, picture_space({}, 1100.0, 800.0)));
}
std::string residuals_svg(const Validation& validation) {
  return scene_svg(residuals_chart(validation, picture_space({}, 1160.0)));
}

/// Every element is closed in order, and every attribute is quoted. Enough for what is printed
/// here; the command line test parses the pictures with a real parser.
bool is_balanced(const std::string& svg) {
  std::vector<std::string> open;
  for (std::size_t at = svg.find('<', 5); at != std::string::npos; at = svg.find('<', at + 1)) {
    const std::size_t end = svg.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = svg.substr(at + 1, end - at - 1);
    if (tag.find('<') != std::string::npos || count(tag, "\"") % 2 != 0) return false;
    const std::string name = tag.substr(0, tag.find(' '));
    if (tag.ends_with('/') || tag.starts_with('!')) continue;
    if (!tag.starts_with('/')) {
      open.push_back(name);
    } else {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    }
  }
  return open.empty();
}

}  // namespace

TEST_CASE("pictures of errors: one mark per compared record, well formed, the same twice",
          "[planner][validate]") {
  for (auto* draw : {&scatter_svg, &residuals_svg}) {
    const std::string svg = (*draw)(mixed());
    CHECK(count(svg, "<title>") == 15);
    CHECK(count(svg, "own-skipped") == 0);
    CHECK(count(svg, "own-memory") == 0);
    CHECK(svg.find("<title>odd-&lt;&amp;&gt;&#10;measured: 5.00 s&#10;predicted: 5.00 s&#10;error: "
                   "+0.0 %&#10;source: odd") != std::string::npos);
    CHECK(svg.starts_with("<?xml"));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(is_balanced(svg));
    CHECK(svg.find("nan") == std::string::npos);
    CHECK(svg.find("inf") == std::string::npos);
    CHECK((*draw)(mixed()) == svg);
  }
}

TEST_CASE("the scatter tells runs and median of each group, and shares within 5, 10 and 20 %",
          "[planner][validate]") {
  const std::string svg = scatter_svg(mixed());
  // Of the 15 runs, 12 are off by less than 5 %, and one more by 15 %.
  CHECK(svg.find("15 measured runs: 80 % within 5 %, 80 % within 10 %, 87 % within 20 %") !=
        std::string::npos);
  CHECK(svg.find("11 runs, median error 2.7 %") != std::string::npos);
  CHECK(svg.find("1 runs, median error 50.0 %") != std::string::npos);
  for (const char* name : {"dense bf16/fp16", "dense fp8", "mixture of experts", "no group"})
    CHECK(svg.find(name) != std::string::npos);
}

TEST_CASE("a mark on the line of equality is where measured and predicted agree",
          "[planner][validate]") {
  const std::string svg =
      scatter_svg(summarized({picture_check("own-1", "MoE", 1.0, 1.0),
                              picture_check("own-2", "dense bf16/fp16", 100.0, 100.0),
                              picture_check("own-3", "dense bf16/fp16", 10.0, 10.0)}));
  CHECK(svg.find("100 % within 5 %") != std::string::npos);
  // Marks are on the line from corner to corner.
  const Scene scene = scatter_chart(mixed(), picture_space({}, 1100.0, 800.0));
  const auto same = std::find_if(scene.marks.begin(), scene.marks.end(),
                                 [](const SceneMark& mark) { return mark.title == "odd-<&>"; });
  REQUIRE(same != scene.marks.end());
  const auto line = std::find_if(scene.items.begin(), scene.items.end(), [](const SceneItem& item) {
    const auto* drawn = std::get_if<SceneLine>(&item);
    return drawn != nullptr && drawn->ink == SceneColour{Ink::text} && !drawn->dashed;
  });
  REQUIRE(line != scene.items.end());
  const auto& equal = std::get<SceneLine>(*line);
  const ScenePoint at = same->area.centre();
  const double share = (at.x - equal.from.x) / (equal.to.x - equal.from.x);
  CHECK(at.y == Approx(equal.from.y + share * (equal.to.y - equal.from.y)));
}

TEST_CASE("strips of errors: medians, boxes from P10 to P90, arrowheads beyond the axis",
          "[planner][validate]") {
  const std::string svg = residuals_svg(mixed());
  CHECK(svg.find(">-3.6 / +3.6</text>") != std::string::npos);
  // moe: two runs have a median and no box; -80 % and own fp8's +50 % are beyond the axis.
  CHECK(svg.find("2 beyond 40 % stand at the ends") != std::string::npos);
  CHECK(count(svg, " / +") == 1);
  CHECK(svg.find("font-weight=\"bold\">own fp8</text>") != std::string::npos);
  CHECK(svg.find("font-weight=\"bold\">own</text>") == std::string::npos);
  CHECK(svg.find(">own</text>") != std::string::npos);
}

TEST_CASE("without step times there is nothing to draw", "[planner][validate]") {
  Validation validation = mixed();
  for (RecordCheck& check : validation.records) skip(check, "none");
  CHECK_FALSE(has_step_times(validation));
  CHECK(has_step_times(mixed()));
  CHECK_THROWS_AS(scatter_svg(validation), std::logic_error);
  CHECK_THROWS_AS(residuals_svg(validation), std::logic_error);
}
