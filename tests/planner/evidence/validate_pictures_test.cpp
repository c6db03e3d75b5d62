// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

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
  for (auto* draw : {&validation_scatter_svg, &validation_residuals_svg}) {
    const std::string svg = (*draw)(mixed());
    CHECK(count(svg, "<title>") == 15);
    CHECK(count(svg, "own-skipped") == 0);
    CHECK(count(svg, "own-memory") == 0);
    CHECK(svg.find("<title>odd-&lt;&amp;&gt;: 5.00 s measured, 5.00 s predicted, +0.0 %</title>") !=
          std::string::npos);
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
  const std::string svg = validation_scatter_svg(mixed());
  // Of the 15 runs, 12 are off by less than 5 %, and one more by 15 %.
  CHECK(svg.find("15 measured runs: 80 % within 5 %, 80 % within 10 %, 87 % within 20 %") !=
        std::string::npos);
  CHECK(svg.find("n 11, median |error| 2.7 %") != std::string::npos);
  CHECK(svg.find("n 1, median |error| 50.0 %") != std::string::npos);
  for (const char* name : {"dense bf16/fp16", "dense fp8", "mixture of experts", "no group"})
    CHECK(svg.find(name) != std::string::npos);
}

TEST_CASE("a mark on the line of equality is where measured and predicted agree",
          "[planner][validate]") {
  const std::string svg =
      validation_scatter_svg(summarized({picture_check("own-1", "MoE", 1.0, 1.0),
                                         picture_check("own-2", "dense bf16/fp16", 100.0, 100.0),
                                         picture_check("own-3", "dense bf16/fp16", 10.0, 10.0)}));
  // The middle of the logarithmic axes: half of 760 pixels from the corner (86, 84 + 760).
  CHECK(svg.find("<circle cx=\"466.0\" cy=\"464.0\"") != std::string::npos);
  CHECK(svg.find("100 % within 5 %") != std::string::npos);
}

TEST_CASE("strips of errors: medians, boxes from P10 to P90, arrowheads beyond the axis",
          "[planner][validate]") {
  const std::string svg = validation_residuals_svg(mixed());
  // own: errors -4.5 ... +4.5 % in steps of 0.9; the axis has 350 pixels for 40 % from x = 540.
  CHECK(svg.find("<rect x=\"508.5\" y=\"135.5\" width=\"63.0\" height=\"17.0\" fill=\"none\"") !=
        std::string::npos);
  CHECK(svg.find(">-3.6 / +3.6</text>") != std::string::npos);
  // moe: two runs have a median and no box; -80 % and own fp8's +50 % are beyond the axis.
  CHECK(svg.find("arrowheads: 2 beyond 40 %") != std::string::npos);
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
  CHECK_THROWS_AS(validation_scatter_svg(validation), std::logic_error);
  CHECK_THROWS_AS(validation_residuals_svg(validation), std::logic_error);
}
