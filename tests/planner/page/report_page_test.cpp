// SPDX-License-Identifier: Apache-2.0
#include "planner/page/report_page.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "planner/forecast/report_answer.hpp"
#include "planner/page/internal/page_parts.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "tests/planner/fixtures.hpp"

using namespace foretrain;

namespace {

constexpr const char* hostile = "</script><script>alert('x')</script> & \"<b>\"";

/// Levers are forecasts of their own, so this takes a job with all its constants.
const Report& real() {
  static const Report report =
      evaluate(load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/llama2-70b-1024xh100.yaml"));
  return report;
}

ReportPage page_of(std::vector<Report> reports) {
  ReportPage page;
  for (Report& report : reports) page.sides.push_back({std::move(report), std::nullopt});
  return page;
}

Json data_of(const std::string& html) {
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const std::size_t from = html.find(open);
  REQUIRE(from != std::string::npos);
  const std::size_t to = html.find("</script>", from);
  return Json::parse(html.substr(from + open.size(), to - from - open.size()));
}

bool has(const std::string& text, const std::string& word) {
  return text.find(word) != std::string::npos;
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    ++found;
  return found;
}

/// Two stages that do `passes` forward passes of a tenth of a second each.
StepPath small_step(int passes) {
  StepPath path;
  path.graph.ranks = 2;
  path.graph.costs.push_back({"pass", Seconds{0.1}, {}, {}});
  path.graph.first.push_back(0);
  for (std::int32_t micro = 0; micro < passes; ++micro)
    for (std::int32_t rank = 0; rank < 2; ++rank) {
      Task task;
      task.rank = rank;
      task.micro = micro;
      const auto id = static_cast<std::uint32_t>(path.graph.tasks.size());
      if (rank == 1) path.graph.predecessors.push_back(id - 1);
      if (micro > 0) path.graph.predecessors.push_back(id - 2);
      path.graph.tasks.push_back(task);
      path.graph.first.push_back(static_cast<std::uint32_t>(path.graph.predecessors.size()));
    }
  path.timeline = longest_path(path.graph);
  return path;
}

}  // namespace

TEST_CASE("report page: what a comparison leaves out stands on it", "[planner][page]") {
  const ReportPage alone = page_of({real()});
  CHECK(not_compared(alone).empty());
  const ReportPage two = page_of({real(), real()});
  const auto list = not_compared(two);
  REQUIRE_FALSE(list.empty());
  CHECK(list.front().what.find("in fp8") != std::string::npos);
  for (const NotCompared& item : list) CHECK(has(page_html(two), xml_text(item.what)));
  CHECK_FALSE(has(page_html(alone), "Not compared"));
  CHECK(page_markdown(two).find("### Not compared") != std::string::npos);
  CHECK(page_markdown(alone).find("### Not compared") == std::string::npos);
}

TEST_CASE("a page says all that the report says without its script") {
  const std::string html = page_html(page_of({real()}));
  CHECK_FALSE(has(html, "<script"));  // nothing is left to draw
  for (const AnswerSection& section : report_answer(real()).sections)
    if (section.place != AnswerPlace::terminal) CHECK(has(html, xml_text(section.title)));
  for (const StepLoss& loss : step_losses(real()).losses) CHECK(has(html, xml_text(loss.cause)));
  for (const ResolvedValue& value : real().scenario.values)
    CHECK(has(html, "<td>" + xml_text(value.path) + "</td>"));
  for (const SourceFile& file : real().scenario.files) CHECK(has(html, file.sha256));
}

TEST_CASE("a page holds the step as JSON, for the one chart that a script draws") {
  ReportPage page = page_of({real(), real()});
  page.sides[1].path = small_step(3);
  const std::string html = page_html(page);
  const Json data = data_of(html);
  CHECK(data["schema"] == "report-page/3");
  REQUIRE(data["sides"].size() == 1);
  CHECK(data["sides"][0]["side"] == "B");
  CHECK(data["sides"][0]["gantt"]["lanes"].size() == 2);
  CHECK(count(html, "<div class=\"step\" data-side=") == 1);
  CHECK(count(html, "<noscript>") == 1);
  // What stands around the chart needs no script.
  CHECK(has(html, "400 ms from the first pass to the last"));
  CHECK(has(html, "</svg>forward</li>"));
  CHECK(has(html, "<td class=\"num\">75.0 %</td><td class=\"num\">25.0 %</td>"));
}

TEST_CASE("MFU and throughput carry the band of the step, turned over") {
  const Prediction& p = real().prediction;
  const AnswerTable table = bands_table(p);
  const auto row = std::find_if(table.rows.begin(), table.rows.end(),
                                [](const auto& cells) { return cells.front().text == "MFU"; });
  REQUIRE(row != table.rows.end());
  CHECK((*row)[1].text == percent_text(p.efficiency->mfu));
  CHECK((*row)[2].text == percent_text(p.efficiency->mfu * (p.step->time / p.step->high)));
  CHECK((*row)[3].text == percent_text(p.efficiency->mfu * (p.step->time / p.step->low)));
}

TEST_CASE("names of users are text on a page, never markup") {
  Report report = real();
  report.scenario.job.name = hostile;
  report.scenario.path = hostile;
  report.prediction.warnings.push_back({hostile, hostile});
  const std::string plain = page_html(page_of({real()}));
  const std::string html = page_html(page_of({report}));
  CHECK(count(html, "<script") == count(plain, "<script"));
  CHECK(count(html, "</script") == count(plain, "</script"));
  CHECK(count(html, "alert(&#39;x&#39;)") + count(html, "alert('x')") >= 4);
  CHECK(html.find("<b>\"") == std::string::npos);
}

TEST_CASE("names that look like parts of the template stay as they are") {
  Report report = real();
  report.scenario.job.name = "{{script}} {{data}}";
  const std::string html = page_html(page_of({report}));
  CHECK(count(html, "<title>{{script}} {{data}}: Foretrain") == 1);
}

TEST_CASE("text that is not UTF-8 is mended on a page") {
  Report report = real();
  report.scenario.job.name = "a\xff";
  const std::string html = page_html(page_of({report}));
  CHECK_FALSE(has(html, "\xff"));
  CHECK(has(html, "a\xef\xbf\xbd"));
}

TEST_CASE("a page asks nothing of a network") {
  const std::string html = page_html(page_of({real()}));
  CHECK(html.find("default-src 'none'") != std::string::npos);
  for (const char* word : {"src=\"http", "href=\"http", "@import", "url(http", "fetch(", "XMLHttp"})
    CHECK(html.find(word) == std::string::npos);
}

TEST_CASE("equal pages are equal bytes") {
  CHECK(page_html(page_of({real()})) == page_html(page_of({real()})));
}

TEST_CASE("several scenarios are compared with the first") {
  Report other = real();
  other.prediction.step->breakdown.bubble += Seconds{0.5};
  other.prediction.step->time += Seconds{0.5};
  const std::string html = page_html(page_of({real(), other}));
  CHECK(has(html, "<h2 id=\"side-B\">B · "));
  const std::size_t head = html.find("What changed in the step, from A to B</h2>");
  REQUIRE(head != std::string::npos);
  CHECK(html.find("pipeline bubble</td><td class=\"num\">+500 ms", head) != std::string::npos);
}

TEST_CASE("plans that cannot run have a page with reasons and without times") {
  for (const Report& report : {fixtures::out_of_memory(), fixtures::illegal()}) {
    const std::string html = page_html(page_of({report}));
    CHECK(has(html, "Not feasible: "));
    CHECK_FALSE(has(html, "Where the step goes"));
    CHECK_FALSE(has(html, "One step, stage by stage"));
  }
}

TEST_CASE("the chart of a step lists every pass with its start and length") {
  const Json chart = gantt_tree(small_step(3));
  const double unit = chart["unit_s"].get<double>();
  REQUIRE(chart["lanes"].size() == 2);
  const Json& work = chart["lanes"][1]["work"];
  REQUIRE(work.size() == std::size_t{3} * 5);
  for (std::size_t pass = 0; pass < 3; ++pass) {
    const double start = work[pass * 5].get<double>() * unit;
    CHECK(start == Approx(0.1 * static_cast<double>(pass + 1)));
    CHECK(work[pass * 5 + 1].get<double>() * unit == Approx(0.1));
    CHECK(work[pass * 5 + 3] == static_cast<int>(pass));
  }
  CHECK(chart["makespan_s"].get<double>() == Approx(0.4));
  CHECK(chart["windows"].size() == 1);
}

TEST_CASE("the critical path of a chart has no holes") {
  const Json chart = gantt_tree(small_step(4));
  const Json& critical = chart["critical"];
  std::int64_t at = 0;
  for (std::size_t i = 0; i < critical.size(); i += 4) {
    CHECK(critical[i + 2] == at);
    at += critical[i + 3].get<std::int64_t>();
  }
  CHECK(at == chart["end"].get<std::int64_t>());
}

TEST_CASE("a step with too many passes shows how it begins and how it ends") {
  const Json chart = gantt_tree(small_step(400), 100);
  REQUIRE(chart["windows"].size() == 2);
  CHECK(chart["windows"][0][0] == 0);
  CHECK(chart["windows"][1][1] == chart["end"]);
  std::size_t spans = 0;
  for (const Json& lane : chart["lanes"]) spans += lane["work"].size() / 5;
  CHECK(spans > 4);
  CHECK(spans < 800);
}

TEST_CASE("the Markdown of a page has every scenario, and the comparison first") {
  const std::string one = page_markdown(page_of({real()}));
  CHECK(count(one, "\n### ") + (one.starts_with("### ") ? 1 : 0) == 1);
  const std::string two = page_markdown(page_of({real(), fixtures::out_of_memory()}));
  CHECK(two.find("| step time |") < two.find("#### Where the step goes"));
  CHECK(two.find("OUT OF MEMORY") != std::string::npos);
}
