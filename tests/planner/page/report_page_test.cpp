// SPDX-License-Identifier: Apache-2.0
#include "planner/page/report_page.hpp"

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>
#include <string>

#include "planner/page/internal/page_tree.hpp"
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
  CHECK(data_of(page_html(two)).at("not_compared").size() == list.size());
  CHECK(data_of(page_html(alone)).at("not_compared").empty());
  CHECK(page_markdown(two).find("### Not compared") != std::string::npos);
  CHECK(page_markdown(alone).find("### Not compared") == std::string::npos);
}

TEST_CASE("a page holds its data as JSON, and the data holds what the forecast says") {
  const Json data = data_of(page_html(page_of({real()})));
  CHECK(data["schema"] == "report-page/2");
  CHECK(data["plans"].is_null());
  REQUIRE(data["sides"].size() == 1);
  const Json& side = data["sides"][0];
  CHECK(side["feasible"] == true);
  CHECK(side["memory"]["stages"].size() == 8);
  double sum = side["losses"]["ideal"].get<double>();
  for (const Json& loss : side["losses"]["losses"]) sum += loss["time"].get<double>();
  CHECK(sum == Approx(real().prediction.step->time.value()));
  for (const Json& stage : side["memory"]["stages"]) {
    double parts = 0.0;
    for (const Json& part : stage["parts"]) parts += part.get<double>();
    CHECK(parts == Approx(stage["peak"].get<double>()));
  }
}

TEST_CASE("MFU and throughput carry the band of the step, turned over") {
  const Report& report = real();
  const Json side = side_tree({report, std::nullopt});
  const StepForecast& step = *report.prediction.step;
  for (const Json& card : side["cards"]) {
    if (card["key"] != "mfu" && card["key"] != "tokens") continue;
    CHECK(card["low"].get<double>() ==
          Approx(card["number"].get<double>() * (step.time / step.high)));
    CHECK(card["high"].get<double>() ==
          Approx(card["number"].get<double>() * (step.time / step.low)));
  }
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
  CHECK(count(html, "alert('x')") == 6);  // title, heading, and four texts of the data
  CHECK(html.find("<b>\"") == std::string::npos);
  CHECK(data_of(html)["sides"][0]["name"] == hostile);
}

TEST_CASE("names that look like parts of the template stay as they are") {
  Report report = real();
  report.scenario.job.name = "{{script}} {{data}}";
  const std::string html = page_html(page_of({report}));
  CHECK(data_of(html)["sides"][0]["name"] == "{{script}} {{data}}");
  CHECK(count(html, "<title>{{script}} {{data}}: Foretrain") == 1);
}

TEST_CASE("text that is not UTF-8 is mended on a page") {
  Report report = real();
  report.scenario.job.name = "a\xff";
  CHECK_NOTHROW(data_of(page_html(page_of({report}))));
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
  other.prediction.step->breakdown.bubble += Seconds{1.0};
  other.prediction.step->time += Seconds{1.0};
  const std::string html = page_html(page_of({real(), other}));
  CHECK(data_of(html)["sides"][1]["side"] == "B");
  const std::size_t head = html.find("What changed in the step, from A to B</h2>");
  REQUIRE(head != std::string::npos);
  CHECK(html.find("pipeline bubble</td><td class=\"num\">+1.00 s", head) != std::string::npos);
}

TEST_CASE("plans that cannot run have a page with reasons and without times") {
  for (const Report& report : {fixtures::out_of_memory(), fixtures::illegal()}) {
    const Json side = data_of(page_html(page_of({report})))["sides"][0];
    CHECK(side["feasible"] == false);
    CHECK_FALSE(side["reasons"].empty());
    CHECK(side["losses"].is_null());
    CHECK(side["gantt"].is_null());
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
