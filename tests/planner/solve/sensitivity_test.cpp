// SPDX-License-Identifier: Apache-2.0
#include "planner/solve/sensitivity.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "models/forecast/closed_form.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/small_run.hpp"

using namespace foretrain;

namespace {

Scenario moved_run(const std::vector<std::string>& overrides = {}) {
  return fixtures::small_run(
      "{price: 2.5 USD/GPU-hour, mean_time_between_interruptions: 10 h,\n"
      "  restart: 10 min, checkpoint: {every: 30 min, mode: async}}\n",
      overrides, "tensor: 2, sequence: true, pipeline: 2, zero: 1");
}

const SensitivityLever& lever(const Sensitivity& result, const std::string& key) {
  const auto found = std::find_if(result.levers.begin(), result.levers.end(),
                                  [&](const SensitivityLever& l) { return l.key == key; });
  REQUIRE(found != result.levers.end());
  return *found;
}

}  // namespace

TEST_CASE("sensitivity: more of a resource is never slower, more of a trouble never faster",
          "[planner][sensitivity][property]") {
  const double by = GENERATE(0.05, 0.1, 0.5);
  const Sensitivity result = sensitivity(moved_run(), SensitivityMetric::time, by);
  for (const char* key :
       {"kernel_efficiency", "memory_bandwidth", "host_bandwidth", "gpu_link_bandwidth"}) {
    CAPTURE(key);
    CHECK(lever(result, key).high_change <= 1e-12);
    CHECK(lever(result, key).low_change >= -1e-12);
  }
  for (const char* key : {"host_latency", "launch", "stragglers", "failure_rate", "restart"}) {
    CAPTURE(key);
    CHECK(lever(result, key).high_change >= -1e-12);
    CHECK(lever(result, key).low_change <= 1e-12);
  }
  CHECK(std::is_sorted(result.levers.begin(), result.levers.end(),
                       [](const auto& a, const auto& b) { return a.swing() > b.swing(); }));
  CHECK(result.unmoved.empty());
}

TEST_CASE("sensitivity: cost is in proportion to the price, time does not know it",
          "[planner][sensitivity]") {
  const Sensitivity cost = sensitivity(moved_run(), SensitivityMetric::cost, 0.1);
  CHECK(lever(cost, "price").high_change == Approx(0.1));
  CHECK(lever(cost, "price").low_change == Approx(-0.1));
  const Sensitivity time = sensitivity(moved_run(), SensitivityMetric::time, 0.1);
  CHECK(lever(time, "price").swing() == 0.0);
  CHECK(lever(cost, "host_bandwidth").high_change ==
        Approx(lever(time, "host_bandwidth").high_change));
}

TEST_CASE("sensitivity: a moved input gives the forecast with that input",
          "[planner][sensitivity]") {
  const Scenario scenario = moved_run();
  const Sensitivity result = sensitivity(scenario, SensitivityMetric::time, 0.1);
  Job job = scenario.job;
  job.cluster.network.nic_link.bandwidth *= 0.9;
  CHECK(closed_form(job).step->time == lever(result, "host_bandwidth").low.step);
  CHECK(closed_form(scenario.job).step->time == result.base.step);
}

TEST_CASE("sensitivity: the batch moves to sizes that the plan divides", "[planner][sensitivity]") {
  const Sensitivity result = sensitivity(moved_run(), SensitivityMetric::time, 0.1);
  const SensitivityLever& batch = lever(result, "global_batch");
  // Eight data ranks: 64 sequences become 56 and 72.
  CHECK(batch.low.factor == Approx(56.0 / 64.0));
  CHECK(batch.high.factor == Approx(72.0 / 64.0));
  CHECK(batch.high_change < 0.0);
}

TEST_CASE("sensitivity: what is not given is not moved, and says so", "[planner][sensitivity]") {
  Scenario scenario = moved_run({"cluster.hosts=1"});
  scenario.job.operations = {};
  const Sensitivity result = sensitivity(scenario, SensitivityMetric::time, 0.1);
  std::vector<std::string> keys;
  for (const UnmovedInput& input : result.unmoved) {
    keys.push_back(input.key);
    CHECK_FALSE(input.why.empty());
  }
  for (const char* key : {"price", "failure_rate", "restart", "host_bandwidth", "host_latency"})
    CHECK(std::find(keys.begin(), keys.end(), key) != keys.end());
  CHECK_THROWS_WITH(sensitivity(scenario, SensitivityMetric::cost, 0.1),
                    Catch::Contains("operations.price"));
  scenario.job.parallel.tensor = 3;
  CHECK_THROWS_AS(sensitivity(scenario, SensitivityMetric::time, 0.1), UsageError);
}

TEST_CASE("sensitivity: text, JSON and picture tell every lever", "[planner][sensitivity]") {
  const Sensitivity result = sensitivity(moved_run(), SensitivityMetric::time, 0.1);
  const std::string text = answer_text(sensitivity_answer(result));
  const std::string svg = scene_svg(tornado_chart(result, {}));
  const auto json = nlohmann::json::parse(sensitivity_json(result));
  CHECK(json.at("schema") == "sensitivity/1");
  REQUIRE(json.at("levers").size() == result.levers.size());
  for (std::size_t i = 0; i < result.levers.size(); ++i) {
    CHECK(text.find(result.levers[i].label) != std::string::npos);
    CHECK(svg.find(result.levers[i].label) != std::string::npos);
    CHECK(json.at("levers").at(i).at("swing").get<double>() == result.levers[i].swing());
  }
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    CHECK(end - start <= 80);
    start = end + 1;
  }
  CHECK(svg.find("nan") == std::string::npos);
}
