// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "planner/forecast/waterfall.hpp"
#include "planner/page/compare.hpp"
#include "tests/planner/fixtures.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

/// The fitting report with a quicker tensor exchange, two changed settings and a smaller row.
Report changed() {
  Report report = fixtures::fitting();
  report.scenario.job.name = "changed";
  StepForecast& step = *report.prediction.step;
  step.breakdown.tensor -= Seconds{0.2};
  step.breakdown.bubble += Seconds{0.05};
  step.time = step.breakdown.total();
  for (ResolvedValue& value : report.scenario.values) {
    if (value.path == "parallel.tensor") value.value = "4";
    if (value.path == "cluster.host.gpus") value.value = "4";
  }
  report.scenario.values.push_back({"parallel.pipeline", "8", "run.yaml:9"});
  for (StageMemory& stage : report.prediction.memory->stages) {
    stage.rows.front().size -= 0.5 * GiB;
    stage.rows.push_back({"loss", "activations", 0.75 * GiB});
  }
  return report;
}

const ComparedFigure& figure(const Comparison& c, const std::string& path) {
  const auto found = std::find_if(c.figures.begin(), c.figures.end(),
                                  [&](const auto& candidate) { return candidate.path == path; });
  REQUIRE(found != c.figures.end());
  return *found;
}

std::string line_with(const std::string& text, const std::string& part) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    if (test::has(line, part)) return line;
  return "";
}

}  // namespace

TEST_CASE("a figure changes by a signed size and a share of the first", "[planner][compare]") {
  CHECK(figure_change("step.time_s", 4.0, 5.0)->text == "+1.00 s (+25.0 %)");
  CHECK_FALSE(figure_change("step.time_s", 4.0, 5.0)->better);
  NumberUnits units;
  units.time = TimeUnits::milliseconds;
  CHECK(figure_change("step.time_s", 5.0, 4.0, units)->text == "-1,000 ms (-20.0 %)");
  CHECK(figure_change("step.time_s", 5.0, 4.0)->better);
  CHECK(figure_change("mfu", 0.25, 0.5)->text == "+25.0 points");
  CHECK(figure_change("mfu", 0.25, 0.5)->better);
  CHECK_FALSE(figure_change("mfu", 0.25, 0.25));
  CHECK_FALSE(figure_change("mfu", std::nullopt, 0.25));
}

TEST_CASE("the parts of a comparison change by what the step changes",
          "[planner][compare][property]") {
  const Comparison c = compare({fixtures::fitting(), changed()});
  Seconds change;
  for (const ComparedPart& part : c.parts) change += *part.times[1] - *part.times[0];
  const Seconds steps = c.reports[1].prediction.step->time - c.reports[0].prediction.step->time;
  CHECK(change.value() == Approx(steps.value()).epsilon(1e-12));
  CHECK(steps.value() == Approx(-0.15));
}

TEST_CASE("a figure differs and divides against the first side", "[planner][compare]") {
  const Comparison c = compare({fixtures::fitting(), changed(), fixtures::out_of_memory()});
  const ComparedFigure& step = figure(c, "step.time_s");
  const double from = *step.values[0];
  CHECK(*step.values[1] == Approx(from - 0.15));
  CHECK(step.difference(1) == "-150 ms");
  CHECK(std::stod(step.ratio(1)) == Approx((from - 0.15) / from).margin(5e-4));
  CHECK(step.difference(0) == "same");
  CHECK_FALSE(step.values[2].has_value());
  CHECK(step.text(2) == "-");
  CHECK(step.ratio(2) == "-");
  CHECK(figure(c, "gpus").text(1) == "1,024");
  CHECK(figure(c, "tokens_per_step").text(1) == "4.19 M");
}

TEST_CASE("only settings that differ are listed, catalog values last", "[planner][compare]") {
  const Comparison c = compare({fixtures::fitting(), changed()});
  REQUIRE(c.settings.size() == 3);
  CHECK(c.settings[0].path == "parallel.tensor");
  CHECK_FALSE(c.settings[0].catalog);
  CHECK(c.settings[0].values[0]->value == "8");
  CHECK(c.settings[0].values[0]->origin == "--set");
  CHECK(c.settings[1].path == "parallel.pipeline");
  CHECK_FALSE(c.settings[1].values[0].has_value());
  CHECK(c.settings[2].path == "cluster.host.gpus");
  CHECK(c.settings[2].catalog);
}

TEST_CASE("memory rows come with the most different first", "[planner][compare]") {
  const Comparison c = compare({fixtures::fitting(), changed()});
  REQUIRE(c.rows.size() == 2);
  CHECK(c.rows[0].name == "loss");
  CHECK(*c.rows[0].sizes[0] == Bytes{});
  CHECK(c.rows[0].spread().in(GiB) == Approx(0.75));
  CHECK(c.rows[1].name == "weights of the layers, bf16");
  CHECK(c.rows[1].spread().in(GiB) == Approx(0.5));
}

TEST_CASE("a comparison in words fits the screen and shows every side",
          "[planner][compare][property]") {
  const int width = GENERATE(60, 80, 132);
  const bool unicode = GENERATE(false, true);
  const TextStyle style{width, unicode, unicode};
  for (const auto& reports :
       {std::vector<Report>{fixtures::fitting(), changed()},
        std::vector<Report>{fixtures::illegal(), changed()},
        std::vector<Report>{fixtures::fitting(), changed(), fixtures::out_of_memory(),
                            fixtures::with_stages(64), fixtures::illegal()}}) {
    const std::string text =
        answer_text(comparison_answer(compare(reports), CatalogValues::grouped), style);
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      INFO(line);
      CHECK(display_width(line) <= width);
      CHECK_FALSE(line.ends_with(' '));
    }
    CHECK(test::has(text, "Headline"));
  }
}

TEST_CASE("the waterfall of a comparison starts and ends at the steps", "[planner][compare]") {
  const std::string text = answer_text(
      comparison_answer(compare({fixtures::fitting(), changed()}), CatalogValues::grouped));
  CHECK(test::has(line_with(text, "  tensor parallel"), "-200 ms"));
  CHECK(test::has(line_with(text, "  pipeline bubble"), "+50.0 ms"));
  CHECK(test::has(line_with(text, "  = B"), "4.62 s"));
  CHECK(line_with(text, "  data parallel").empty());  // did not change
  CHECK(test::has(text, "Bars start at"));
}

TEST_CASE("a side that cannot run says why", "[planner][compare]") {
  const Comparison c = compare({fixtures::fitting(), fixtures::out_of_memory()});
  CHECK_FALSE(c.feasible());
  const std::string text = answer_text(comparison_answer(c, CatalogValues::grouped));
  CHECK(test::has(text, "OUT OF MEMORY"));
  CHECK(test::has(comparison_head(c).sentence, "B: stage 0 needs 90.6 GiB"));
  CHECK(test::has(text, "stage 0 needs 90.6 GiB"));
  CHECK_FALSE(test::has(text, "What changed in the step"));
  CHECK(test::has(answer_markdown(comparison_answer(c, CatalogValues::grouped)), "OUT OF MEMORY"));
}

TEST_CASE("equal scenarios have nothing that differs", "[planner][compare]") {
  const Comparison c = compare({fixtures::fitting(), fixtures::fitting()});
  CHECK(c.settings.empty());
  CHECK(c.rows.empty());
  const std::string text = answer_text(comparison_answer(c, CatalogValues::grouped));
  CHECK(test::has(line_with(text, "step time"), "same"));
  CHECK(test::has(text, "Settings that differ\n  none"));
}

TEST_CASE("comparison JSON and CSV carry the same numbers", "[planner][compare]") {
  const Comparison c = compare({fixtures::fitting(), changed()});
  const auto json = nlohmann::json::parse(comparison_json(c));
  CHECK(json["schema"] == "comparison/1");
  CHECK(json["scenarios"].size() == 2);
  const auto& figures = json["figures"];
  const auto step = std::find_if(figures.begin(), figures.end(),
                                 [](const auto& f) { return f["path"] == "step.time_s"; });
  REQUIRE(step != figures.end());
  const double from = (*step)["values"][0];
  const double to = (*step)["values"][1];
  const std::string row = line_with(comparison_csv(c), "figure,step.time_s,");
  std::istringstream cells(row.substr(row.find("_s,") + 3));
  std::vector<double> numbers;
  for (std::string cell; std::getline(cells, cell, ',');) numbers.push_back(std::stod(cell));
  REQUIRE(numbers.size() == 4);
  CHECK(numbers[0] == from);
  CHECK(numbers[1] == to);
  CHECK(numbers[2] == Approx(to - from));
  CHECK(numbers[3] == Approx(to / from));
}

TEST_CASE("which machine is cheaper is open where the bands of prices leave it open",
          "[planner][compare]") {
  const auto priced = [](const char* host, double price) {
    Report report = fixtures::fitting();
    report.scenario.job.cluster.host.name = host;
    CostForecast& cost = report.prediction.cost;
    cost.price = Dollars{price};
    cost.low.price = Dollars{0.9 * price};
    cost.high.price = Dollars{1.15 * price};
    return report;
  };
  const auto says = [&](const Report& other, const char* part) {
    const std::string text = answer_text(
        comparison_answer(compare({priced("one", 100.0), other}), CatalogValues::grouped),
        {200, false, false});
    return test::has(text, part);
  };
  CHECK(says(priced("two", 110.0), "A and B are a tie: A has 9.1 % less cost"));
  CHECK(says(priced("two", 140.0), "A has 28.6 % less cost than B"));
  CHECK(says(priced("two", 70.0), "B has 30.0 % less cost than A"));
  // Constants of one machine are off for both of its plans, mostly alike.
  CHECK(says(priced("two", 114.0), "A and B are a tie: A has 12.3 %"));
  CHECK(says(priced("one", 114.0), "A has 12.3 % less cost than B"));
  // Text, Markdown and page say the same.
  const Comparison tie = compare({priced("one", 100.0), priced("two", 110.0)});
  CHECK(test::has(answer_markdown(comparison_answer(tie, CatalogValues::grouped)),
                  "A and B are a tie: A has 9.1 % less cost"));
}

TEST_CASE("sides of other batches and machines are compared per token, and that is said",
          "[planner][compare]") {
  Report larger = fixtures::fitting();
  larger.scenario.job.training.global_batch *= 2;
  larger.scenario.job.cluster.hosts *= 4;
  const AnswerHead head = comparison_head(compare({fixtures::fitting(), larger}));
  CHECK(head.words == "B IS FASTER");
  CHECK(test::has(head.sentence, "B has 50.0 % less time per token than A"));
  CHECK(test::has(head.sentence, "A has 50.0 % less GPU time per token than B"));
  for (const HeadFigure& side : head.figures) {
    CHECK(test::has(side.value, "tokens/s"));
    CHECK(test::has(side.difference, "step "));
  }
  const AnswerHead same = comparison_head(compare({fixtures::fitting(), changed()}));
  CHECK_FALSE(test::has(same.sentence, "GPU time"));
  CHECK_FALSE(test::has(same.figures.front().value, "tokens/s"));
}
