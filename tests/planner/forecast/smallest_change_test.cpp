// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "tests/planner/forecast/shipped_scenario.hpp"

using namespace foretrain;

namespace {

using test::scenario_with;

const std::string scenario_folder = FORETRAIN_SOURCE_DIR "/scenarios/";

MemoryForecast memory_of(const Job& job) {
  return forecast_memory(job, stage_layout(job.model, job.parallel));
}

}  // namespace

TEST_CASE("every change that is offered is legal, fits, and takes as long as it says",
          "[planner][change]") {
  const std::string file = "llama2-70b-1024xh100.yaml";
  const std::vector<std::string> tight{"parallel.tensor=2", "parallel.pipeline=4",
                                       "parallel.data=128", "memory.recompute=none"};
  const Scenario scenario = scenario_with(tight);
  REQUIRE(broken_rules(scenario.job).empty());
  REQUIRE_FALSE(memory_of(scenario.job).fits());
  const auto changes = changes_that_fit(scenario);
  REQUIRE_FALSE(changes.empty());
  for (const Change& change : changes) {
    // The settings must mean on the command line what they meant in the search.
    std::vector<std::string> overrides = tight;
    overrides.insert(overrides.end(), change.settings.begin(), change.settings.end());
    const Scenario changed = scenario_with(overrides);
    CAPTURE(change.text());
    CHECK(broken_rules(changed.job).empty());
    CHECK(memory_of(changed.job).fits());
    CHECK(memory_of(changed.job).peak.value() == change.peak.value());
    const Prediction forecast = closed_form(changed.job);
    CHECK(forecast.step.has_value() == change.step.has_value());
    if (forecast.step && change.step)
      CHECK(forecast.step->time.value() == Approx(change.step->value()).epsilon(1e-12));
  }
}

TEST_CASE("changes come fastest first, those without a time last", "[planner][change]") {
  const auto changes = changes_that_fit(scenario_with(
      {"parallel.tensor=2", "parallel.pipeline=4", "parallel.data=128", "memory.recompute=none"}));
  CHECK(std::is_sorted(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.step && (!b.step || *a.step < *b.step);
  }));
}

TEST_CASE("a model far too large for the machine is answered with a larger one",
          "[planner][change]") {
  // Even with its optimizer in host memory, 405 B parameters need more than 16 GPUs.
  const Scenario scenario = scenario_with(
      {"model=llama3.1-405b", "cluster.hosts=2", "parallel.tensor=8", "parallel.pipeline=2",
       "parallel.data=1", "training.micro_batch=1", "training.global_batch=64"});
  REQUIRE(broken_rules(scenario.job).empty());
  REQUIRE_FALSE(memory_of(scenario.job).fits());
  const auto changes = changes_that_fit(scenario);
  REQUIRE_FALSE(changes.empty());
  for (const Change& change : changes)
    CHECK(std::any_of(change.settings.begin(), change.settings.end(),
                      [](const auto& s) { return s.starts_with("cluster.hosts="); }));
}

TEST_CASE("the optimizer goes to host memory before a larger machine is asked for",
          "[planner][change]") {
  const auto changes = changes_that_fit(
      scenario_with({"cluster.hosts=1", "parallel.tensor=8", "parallel.pipeline=1",
                     "parallel.data=1", "training.micro_batch=1", "training.global_batch=64"}));
  REQUIRE_FALSE(changes.empty());
  CHECK(changes.front().text().find("memory.offload=optimizer") != std::string::npos);
  CHECK(changes.front().text().find("cluster.hosts") == std::string::npos);
}

TEST_CASE("a larger machine is priced with the network that it needs", "[planner][change]") {
  // One host needs no switch, a second one does: what is offered must come true with --set.
  const std::vector<std::string> one_host{"model=llama3.1-405b",      "cluster.hosts=1",
                                          "parallel.tensor=8",        "parallel.pipeline=1",
                                          "parallel.data=1",          "training.micro_batch=1",
                                          "training.global_batch=64", "training.tokens=1 T"};
  const Scenario scenario = scenario_with(one_host);
  const auto changes = changes_that_fit(scenario);
  REQUIRE_FALSE(changes.empty());
  for (const Change& change : changes) {
    std::vector<std::string> overrides = one_host;
    overrides.insert(overrides.end(), change.settings.begin(), change.settings.end());
    const Scenario changed = scenario_with(overrides);
    CAPTURE(change.text());
    const Prediction forecast = closed_form(changed.job);
    REQUIRE(forecast.step.has_value() == change.step.has_value());
    if (change.step)
      CHECK(forecast.step->time.value() == Approx(change.step->value()).epsilon(1e-12));
    const Network& network = cluster_with_hosts(scenario, changed.job.cluster.hosts).network;
    CHECK(network.path_latency == changed.job.cluster.network.path_latency);
    CHECK(network.switch_levels == changed.job.cluster.network.switch_levels);
  }
}

TEST_CASE("evaluate fills the remedy of a plan that runs out of memory", "[planner][change]") {
  const Report report = evaluate(scenario_with(
      {"parallel.tensor=2", "parallel.pipeline=4", "parallel.data=128", "memory.recompute=none"}));
  REQUIRE_FALSE(report.prediction.feasible());
  REQUIRE(report.prediction.reasons.front().rule == "out-of-memory");
  REQUIRE_FALSE(report.changes.empty());
  for (const std::string& setting : report.changes.front().settings)
    CHECK(report.prediction.reasons.front().remedy.find(setting) != std::string::npos);
}
