// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/step/step_costs.hpp"
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

TEST_CASE("a layout without chunks takes a stated group of micro-batches away",
          "[planner][change]") {
  const std::vector<std::string> grouped{"parallel.microbatch_group=128"};
  const Scenario scenario =
      load_scenario(scenario_folder + "llama3.1-405b-256xgb200.yaml", {grouped, {}});
  REQUIRE_FALSE(memory_of(scenario.job).fits());
  int whole = 0;
  for (const Change& change : changes_that_fit(scenario)) {
    std::vector<std::string> overrides = grouped;
    overrides.insert(overrides.end(), change.settings.begin(), change.settings.end());
    CAPTURE(change.text());
    const Job job =
        load_scenario(scenario_folder + "llama3.1-405b-256xgb200.yaml", {overrides, {}}).job;
    CHECK(memory_of(job).fits());
    if (job.parallel.virtual_stages == 1) ++whole;
  }
  CHECK(whole > 0);
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

namespace {

/// Full fine-tuning of Llama 3 8B by the Trainer.
Scenario tuned(const std::string& host, int gpus, const std::vector<std::string>& settings) {
  const std::string text = fmt::format(
      "schema: 1\nname: tuned\nmodel: llama3-8b\n"
      "cluster: {{host: {}, hosts: 1, gpus_per_host: {}, fabric: {{kind: single-switch, preset: "
      "ib-hdr}}}}\n"
      "training: {{sequence: 2048, micro_batch: 2, global_batch: {}}}\n"
      "parallel: {{framework: transformers, data: {}}}\nstack: hf-trainer\n",
      host, gpus, 16 * gpus, gpus);
  LoadOptions options;
  options.overrides = settings;
  return load_scenario_text(text, "tuned.yaml", ".", options);
}

void check_means_the_same(const Change& change, const std::string& host, int gpus,
                          std::vector<std::string> settings) {
  settings.insert(settings.end(), change.settings.begin(), change.settings.end());
  const Scenario changed = tuned(host, gpus, settings);
  CAPTURE(change.text());
  CHECK(memory_of(changed.job).peak.value() == change.peak.value());
  const StepCosts costs =
      step_costs(changed.job, stage_layout(changed.job.model, changed.job.parallel));
  REQUIRE(change.step.has_value());
  CHECK(closed_form_step(changed.job, costs).value() ==
        Approx(change.step->value()).epsilon(1e-12));
}

}  // namespace

TEST_CASE("fine-tuning is offered what gives up nothing before what does", "[planner][change]") {
  const auto changes = changes_that_fit(tuned("dgx-h100", 8, {}));
  REQUIRE_FALSE(changes.empty());
  CHECK(changes.front().gives_up.empty());
  const auto first_lossy = std::find_if(changes.begin(), changes.end(),
                                        [](const auto& c) { return !c.gives_up.empty(); });
  CHECK(first_lossy != changes.end());
  CHECK(std::all_of(first_lossy, changes.end(), [](const auto& c) { return !c.gives_up.empty(); }));
  CHECK(std::any_of(first_lossy, changes.end(), [](const Change& change) {
    return change.text().find("fine_tuning.adapter=lora") != std::string::npos;
  }));
  for (const Change& change : changes) {
    CHECK(change.text().find("parallel.tensor") == std::string::npos);
    CHECK(change.text().find("parallel.pipeline") == std::string::npos);
    check_means_the_same(change, "dgx-h100", 8, {});
  }
  // One small GPU: nothing but fewer trained weights helps.
  const auto small = changes_that_fit(tuned("rtx4090", 1, {}));
  REQUIRE_FALSE(small.empty());
  CHECK_FALSE(small.front().gives_up.empty());
  CHECK(small.front().text().find("fine_tuning.frozen_format=nf4-double") != std::string::npos);
}

TEST_CASE("what people try on one host is told change by change", "[planner][change]") {
  const std::vector<std::string> settings{"memory.recompute=full"};
  const auto tried = one_at_a_time(tuned("l40s", 2, settings));
  const auto place = [&](const std::string& word) {
    return std::find_if(tried.begin(), tried.end(),
                        [&](const TriedChange& row) {
                          return row.change.text().find(word) != std::string::npos;
                        }) -
           tried.begin();
  };
  const auto count = static_cast<std::ptrdiff_t>(tried.size());
  std::ptrdiff_t last = -1;
  for (const char* word : {"micro_batch=1", "recompute=none", "fused_kernels", "adam8bit",
                           "adapter=lora", "nf4-double", "offload=optimizer", "zero=3"}) {
    CAPTURE(word);
    REQUIRE(place(word) < count);
    CHECK(place(word) > last);
    last = place(word);
  }
  for (const TriedChange& row : tried) {
    CHECK_FALSE(row.costs.empty());
    check_means_the_same(row.change, "l40s", 2, settings);
  }
  CHECK(place("recompute=full") == count);  // it is so already
}

TEST_CASE("pretraining is offered no adapters", "[planner][change]") {
  const auto tried = one_at_a_time(tuned("l40s", 2, {"parallel.framework=any"}));
  for (const TriedChange& row : tried) CHECK(row.change.gives_up.empty());
  CHECK(one_at_a_time(scenario_with({})).empty());  // 128 hosts
}

TEST_CASE("what a change costs is what its own forecast says", "[planner][change]") {
  const std::string file = "llama3.1-8b-sft-8xh100.yaml";
  for (const std::vector<std::string>& base :
       {std::vector<std::string>{}, {"parallel.zero=1"}, {"parallel.zero=0"}}) {
    LoadOptions options;
    options.overrides = base;
    const Scenario scenario = load_scenario(scenario_folder + file, options);
    const Bytes now = memory_of(scenario.job).peak;
    const Prediction forecast = closed_form(scenario.job);
    if (!forecast.step) continue;
    const Seconds step = forecast.step->time;
    for (const TriedChange& tried : one_at_a_time(scenario)) {
      CAPTURE(tried.name, tried.costs);
      if (tried.costs != "nothing") continue;
      CHECK(tried.change.peak.value() <= 1.005 * now.value());
      CHECK(tried.change.step->value() <= 1.005 * step.value());
    }
  }
}

TEST_CASE("without checkpointing, what it offloaded stays on the GPU", "[planner][change]") {
  LoadOptions options;
  options.overrides = {"memory.offloaded_layers=32"};
  const Scenario scenario = load_scenario(scenario_folder + "llama3.1-8b-sft-8xh100.yaml", options);
  REQUIRE(broken_rules(scenario.job).empty());
  const auto tried = one_at_a_time(scenario);
  const auto found = std::find_if(tried.begin(), tried.end(), [](const TriedChange& change) {
    return change.name == "no checkpointing";
  });
  REQUIRE(found != tried.end());
  CHECK(found->change.text() == "memory.recompute=none memory.offloaded_layers=0");
}
