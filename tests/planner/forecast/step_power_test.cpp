// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/power_chart.hpp"
#include "planner/scene/scene.hpp"

#include <catch2/catch.hpp>

#include <sstream>
#include <string>

#include "planner/forecast/report.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/step/event_report.hpp"
#include "planner/step/step_slices.hpp"
#include "tests/test_text.hpp"

using namespace foretrain;

namespace {

Scenario scenario_of(const std::string& file, std::vector<std::string> overrides = {}) {
  return load_scenario(FORETRAIN_SOURCE_DIR "/scenarios/" + file, {std::move(overrides), {}});
}

/// Mean of a column of the CSV.
double column_mean(const std::string& csv, int column) {
  std::istringstream lines(csv);
  std::string line;
  std::getline(lines, line);
  double sum = 0.0;
  int count = 0;
  for (; std::getline(lines, line); ++count) {
    std::istringstream cells(line);
    std::string cell;
    for (int i = 0; i <= column; ++i) std::getline(cells, cell, ',');
    sum += std::stod(cell);
  }
  return sum / count;
}

}  // namespace

TEST_CASE("step power: the file of a step adds up to the mean of the forecast",
          "[planner][power]") {
  const Scenario scenario = scenario_of("llama2-70b-1024xh100.yaml");
  for (const EngineKind engine : {EngineKind::path, EngineKind::event}) {
    std::optional<StepPath> path;
    Prediction prediction;
    if (engine == EngineKind::path) {
      const Report report = evaluate(scenario, AttentionFlops::full, engine);
      path = play_step(report);
      prediction = report.prediction;
    } else {
      const EventReport event = evaluate_event(scenario, AttentionFlops::full);
      path = played_path(*event.run);
      prediction = event.report.prediction;
    }
    REQUIRE(path.has_value());
    REQUIRE(prediction.power.has_value());
    const std::string csv = power_csv(step_power(scenario.job, *path));
    CHECK(test::has(csv, "time_s,gpu_w,host_w,rack_w,site_w\n0.000000,"));
    CHECK(column_mean(csv, 4) == Approx(prediction.power->mean.value()).epsilon(1e-6));
    CHECK(prediction.power->mean == *prediction.cost.power);
  }
}

TEST_CASE("step power: racks are written where something says how many hosts they have",
          "[planner][power]") {
  const auto csv_of = [](std::vector<std::string> overrides) {
    const Scenario scenario = scenario_of("llama3-8b-8xh100.yaml", std::move(overrides));
    return power_csv(step_power(
        scenario.job, *play_step(evaluate(scenario, AttentionFlops::full, EngineKind::path))));
  };
  const std::string unknown = csv_of({});
  CHECK(test::has(unknown.substr(0, 120), ",,"));
  const std::string known = csv_of({"operations.power.hosts_per_rack=4"});
  CHECK_FALSE(test::has(known, ",,"));
  CHECK(column_mean(known, 3) == Approx(column_mean(known, 2)).epsilon(1e-3));  // one host
}

TEST_CASE("step power: closed form and path tell the same power", "[planner][power]") {
  const Scenario scenario = scenario_of("gpt3-175b-1024xa100.yaml");
  const auto closed = evaluate(scenario).prediction.power;
  const auto path = evaluate(scenario, AttentionFlops::full, EngineKind::path).prediction.power;
  REQUIRE(closed.has_value());
  CHECK(closed->mean.value() == Approx(path->mean.value()).epsilon(0.01));
  CHECK(closed->peak == path->peak);
  CHECK(closed->ramp == path->ramp);
}

TEST_CASE("step power: a step of very many passes is stood for by a shorter one",
          "[planner][power]") {
  // 2 x 16 stages x 3 chunks x 1,536 micro-batches are more than are played.
  const Scenario scenario = scenario_of("gpt3-175b-1024xa100.yaml");
  const Scenario longer = scenario_of("gpt3-175b-1024xa100.yaml", {"training.global_batch=12288"});
  const auto few = evaluate(scenario).prediction.power;
  const auto many = evaluate(longer).prediction.power;
  REQUIRE(many.has_value());
  CHECK(many->peak.value() == Approx(few->peak.value()).epsilon(1e-3));
  CHECK(many->mean > few->mean);  // the ends weigh less
}

TEST_CASE("step power: unknown draws are ranges, floors cost energy", "[planner][power]") {
  const auto power = [](std::vector<std::string> overrides) {
    return *evaluate(scenario_of("llama2-70b-1024xh100.yaml", std::move(overrides)))
                .prediction.power;
  };
  const PowerForecast unknown = power({});
  const PowerForecast known = power({"operations.power.host=2 kW"});
  CHECK(unknown.high / unknown.low > known.high / known.low);
  CHECK(known.low < known.mean);
  const PowerForecast floor = power({"operations.power.host=2 kW", "operations.power.floor=0.9"});
  CHECK(floor.mean > known.mean);
  CHECK(floor.peak_over_mean < known.peak_over_mean);
  CHECK(floor.swing < known.swing);
}

TEST_CASE("step power: the picture shows GPU, host and site", "[planner][power]") {
  const Scenario scenario = scenario_of("llama3-8b-8xh100.yaml");
  const auto path = play_step(evaluate(scenario, AttentionFlops::full, EngineKind::path));
  const std::string svg = scene_svg(
      power_chart(step_power(scenario.job, *path), picture_space("a <run>", 1000.0, 660.0)));
  CHECK(test::has(svg, "a &lt;run&gt;"));
  CHECK(test::has(svg, "all at the meter"));
  CHECK(test::has(svg, "one GPU of the first stage"));
  CHECK(test::has(svg, "the first host"));
  // Whatever the width, each course ends at the right of its plot, between zero and its most.
  for (const double width : {700.3, 900.0, 1234.7}) {
    const Scene scene =
        power_chart(step_power(scenario.job, *path), picture_space({}, width, 500.0));
    int courses = 0;
    for (const SceneItem& item : scene.items)
      if (const auto* course = std::get_if<ScenePath>(&item)) {
        ++courses;
        CHECK(course->points.back().x == Approx(width - 20.0));
        for (const ScenePoint& point : course->points) {
          CHECK(point.y > 0.0);
          CHECK(point.y < 500.0);
        }
      }
    CHECK(courses == 3);
  }
}

TEST_CASE("step power: no step draws more than --power-cap counts", "[planner][power]") {
  for (const char* file : {"llama2-70b-1024xh100.yaml", "llama3-70b-64xgb200.yaml",
                           "llama3.1-405b-128xgb300.yaml", "llama2-70b-256xa100.yaml"}) {
    CAPTURE(file);
    const Scenario scenario = scenario_of(file);
    const PowerForecast power = *evaluate(scenario).prediction.power;
    CHECK(power.peak < most_power(scenario.job).high);
  }
}

TEST_CASE("step power: --full tells what limits of power cost", "[planner][power]") {
  const std::string text = answer_text(
      report_answer(evaluate(scenario_of("llama2-70b-1024xh100.yaml")), ReportLength::full),
      TextStyle{});
  CHECK(test::has(text, "What limits of power cost"));
  CHECK(test::has(text, "floor of 90 %"));
}
