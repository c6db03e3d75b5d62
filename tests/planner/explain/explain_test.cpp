// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

#include "planner/answer/quantity.hpp"
#include "planner/explain/explain.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/fixtures.hpp"

using namespace foretrain;

TEST_CASE("explain tells value, formula, inputs with origin, and constants", "[planner][explain]") {
  const Report report = fixtures::fitting();
  const ExplainAnswer answer = explain(report, "mfu");
  CHECK(answer.value == "42.0 %");
  CHECK(answer.exact == "0.42");
  CHECK(answer.formula.find("flops.model_per_step") != std::string::npos);
  const auto hosts = std::find_if(answer.inputs.begin(), answer.inputs.end(),
                                  [](const auto& input) { return input.path == "cluster.hosts"; });
  REQUIRE(hosts != answer.inputs.end());
  CHECK(hosts->value == "128");
  CHECK(hosts->origin == "run.yaml:6");
  const ExplainAnswer step = explain(report, "step");
  CHECK(step.path == "step.time_s");
  REQUIRE(step.constants.size() == 2);
  CHECK(answer_text(explain_answer(step)).find("GEMM sweep on an H100 SXM5") != std::string::npos);
}

TEST_CASE("a memory category lists its named rows", "[planner][explain]") {
  const ExplainAnswer answer = explain(fixtures::fitting(), "memory.stages.0.activations_bytes");
  REQUIRE(answer.parts.size() == 2);
  CHECK(answer.parts[0] == std::pair<std::string, std::string>{"MLP", "22.5 GiB"});
}

TEST_CASE("scenario keys and groups can be explained", "[planner][explain]") {
  const Report report = fixtures::fitting();
  CHECK(explain(report, "parallel.tensor").inputs.at(0).origin == "--set");
  CHECK(explain(report, "scenario.parallel.tensor").value == "8");
  CHECK(explain(report, "step.breakdown").parts.size() == 12);
  CHECK(explain(report, "parallel").parts.size() == 2);
}

TEST_CASE("a number that an infeasible plan lacks is unknown but explained", "[planner][explain]") {
  const ExplainAnswer answer = explain(fixtures::illegal(), "step.breakdown.bubble_s");
  CHECK(answer.value == "unknown");
  CHECK(answer.formula.find("(p - 1) / (m v)") != std::string::npos);
}

TEST_CASE("the last word of a path is enough when there is just one", "[planner][explain]") {
  const Report report = fixtures::fitting();
  CHECK(explain(report, "bubble").path == "step.breakdown.bubble_s");
  CHECK(explain(report, "bubble_s").path == "step.breakdown.bubble_s");
  CHECK(explain(report, "gpu_hours").path == "cost.gpu_hours");
  CHECK_THROWS_AS(explain(report, "source"), UsageError);  // four of them
}

TEST_CASE("an unknown quantity gets the nearest one", "[planner][explain]") {
  const Report report = fixtures::fitting();
  CHECK_THROWS_WITH(explain(report, "step.tim_s"), Catch::Contains("did you mean 'step.time_s'"));
  CHECK_THROWS_AS(explain(report, "memory.stages.9.peak_bytes"), UsageError);
  CHECK_THROWS_AS(explain(report, ""), UsageError);
}

TEST_CASE("explain keeps to the width", "[planner][explain][property]") {
  const int width = GENERATE(60, 80, 120);
  TextStyle style;
  style.width = width;
  const Report report = fixtures::fitting();
  std::string all = answer_text(quantities_answer(report), style);
  for (const ValueRow& row : quantities().rows())
    if (!row.in_list()) all += answer_text(explain_answer(explain(report, row.path)), style);
  std::istringstream in(all);
  for (std::string line; std::getline(in, line);) {
    INFO(line);
    CHECK(display_width(line) <= width);
  }
}

TEST_CASE("explain speaks JSON", "[planner][explain]") {
  const Report report = fixtures::fitting();
  const Json answer = Json::parse(explain_json(explain(report, "step")));
  CHECK(answer["value"].get<double>() == report.prediction.step->time.value());
  CHECK(answer["constants"][0]["trust"] == "measured");
  CHECK(Json::parse(quantities_json(report))["quantities"].size() > 100);
}
