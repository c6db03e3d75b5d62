// SPDX-License-Identifier: Apache-2.0
// One rule for "fits", and nothing unknown passes: the cases that once went wrong.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <filesystem>
#include <limits>
#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "planner/check/check.hpp"
#include "planner/explain/explain.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/report_json.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/smallest_change.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/solve/procure.hpp"
#include "planner/solve/sensitivity.hpp"
#include "planner/solve/solve.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/sweep/sweep_row.hpp"
#include "tests/planner/search/search_fixtures.hpp"

using namespace foretrain;

namespace {

Scenario loaded(const std::string& text, const std::vector<std::string>& overrides = {}) {
  LoadOptions options;
  options.overrides = overrides;
  return load_scenario_text(text, "run.yaml", std::filesystem::current_path(), options);
}

/// Llama 3 70B on 160 H200: its fastest plans fill the device with the allocator's cache.
Scenario seventy(const std::vector<std::string>& overrides = {}) {
  return loaded(
      "schema: 1\n"
      "name: seventy\n"
      "model: llama3-70b\n"
      "cluster: {host: hgx-h200, hosts: 20, fabric: {kind: rail-optimized, preset: ib-ndr}}\n"
      "training: {sequence: 8192, global_batch: 1024, tokens: 5 T}\n"
      "parallel: {zero: 1, pipeline: 5, context: 4}\n",
      overrides);
}

/// The plan that was once said to be the fewest GPUs' best, at 0 s per step.
std::vector<std::string> brimful() {
  return {"parallel.tensor=1",   "parallel.sequence=false", "parallel.context=4",
          "parallel.pipeline=5", "parallel.data=8",         "memory.recompute=none"};
}

SearchSpace seventy_space(const Job& job) {
  SearchSpace space = default_space(job);
  space.pipeline = {5};
  space.tensor = {1, 2};
  space.virtual_stages = {1};
  return space;
}

/// Llama 3 8B on one host of eight H100; 20 B tokens.
Scenario eight(const std::vector<std::string>& overrides = {}) {
  return loaded(
      "schema: 1\n"
      "name: eight\n"
      "model: llama3-8b\n"
      "cluster: {host: dgx-h100, hosts: 1, fabric: {kind: single-switch, preset: ib-ndr}}\n"
      "training: {sequence: 8192, global_batch: 64, tokens: 20 B}\n"
      "parallel: {tensor: 2, sequence: true, zero: 1}\n"
      "memory: {recompute: full}\n",
      overrides);
}

/// It lacks memory, and nothing else.
Scenario too_large() { return eight({"memory.recompute=none", "training.micro_batch=4"}); }

}  // namespace

TEST_CASE("device bytes exceed the device exactly where the least cache does not fit",
          "[models][memory]") {
  Job job = eight().job;
  const MemoryRules& rules = job.stack.memory;
  REQUIRE(rules.least_reserved < rules.reserved_over_allocated);
  for (int i = 0; i < 10000; ++i) {
    const double outside = 1e9 + 12345.678 * i;
    const double usable = 7.0e10 + 98765.4321 * i + 1.0 / 3.0;
    job.cluster.host.device.usable_memory = Bytes{usable};
    const double full = (usable - outside) / rules.least_reserved;
    const double roomy = (usable - outside) / rules.reserved_over_allocated;
    for (const double allocated : {full, std::nextafter(full, 0.0), std::nextafter(full, 1e12),
                                   0.5 * (full + roomy), roomy, 0.9 * roomy}) {
      const double device = device_bytes(job, allocated, outside);
      const double least = allocated * rules.least_reserved + outside;
      CHECK((device <= usable) == (least <= usable));
      if (allocated > roomy * (1.0 + 1e-12) && least <= usable) CHECK(device == usable);
    }
  }
}

TEST_CASE("search and forecast have the same memory and step, to the last bit",
          "[planner][search]") {
  const Scenario scenario = seventy();
  const SearchSpace space = seventy_space(scenario.job);
  int looked_at = 0;
  int brim = 0;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const Job job = job_at(scenario.job, space, index);
    if (fixtures::refusal_of(job, space)) continue;
    const ScoredPlan scored = score(job);
    const Prediction forecast = closed_form(job);
    ++looked_at;
    CHECK(forecast.memory->peak == scored.peak);
    CHECK(forecast.memory->high == scored.high);
    CHECK(forecast.feasible() == (scored.peak <= job.cluster.host.device.usable_memory));
    if (forecast.step) CHECK(forecast.step->time == scored.step);
    if (scored.peak == job.cluster.host.device.usable_memory) ++brim;
  }
  CHECK(looked_at > 20);
  CHECK(brim > 0);
}

TEST_CASE("plans whose cache fills the device run where all of the memory is asked for",
          "[planner][search]") {
  const Scenario scenario = seventy();
  SearchOptions options;
  options.limits.max_memory_share = 1.0;
  const PlanReport report = plan(scenario, seventy_space(scenario.job), options);
  REQUIRE(report.plans.size() > 2);
  for (const Finalist& found : report.plans) {
    CHECK(found.report.prediction.feasible());
    CHECK(found.step.time > Seconds{});
    CHECK(path_forecast(seventy(found.settings).job).step.value().time == found.step.time);
  }
  CHECK(report.plans.front().scored.peak ==
        scenario.job.cluster.host.device.usable_memory);  // the edge is met
  const Report brim = evaluate(seventy(brimful()));
  REQUIRE(brim.prediction.feasible());
  CHECK(verdict_words(brim.prediction) == "FITS BARELY");
}

TEST_CASE("by default plans leave a twentieth of the memory, and their band's upper end fits",
          "[planner][search]") {
  const Scenario scenario = seventy();
  const PlanReport report = plan(scenario, seventy_space(scenario.job));
  REQUIRE_FALSE(report.plans.empty());
  for (const Finalist& found : report.plans) {
    const MemoryForecast& memory = *found.report.prediction.memory;
    CHECK(memory.peak <= default_memory_share * memory.usable);
    CHECK(memory.high <= memory.usable);
    CHECK(judge_fit(found.report.scenario).verdict == FitVerdict::fits);
  }
  CHECK(report.result.rejected.count("headroom") == 1);
  CHECK(answer_text(plan_answer(report)).find("memory 95.0 %") != std::string::npos);
}

TEST_CASE("solve gpus: what it answers has a time and keeps the deadline", "[planner][solve]") {
  const Scenario scenario = seventy();
  SolveOptions options;
  options.limits.max_run = Seconds{340.0 * 86400.0};
  options.most_gpus = 168;
  const SolveAnswer answer = fewest_gpus(scenario, options);
  for (const auto& row : answer.rows)
    if (row.back().text == "yes") {
      CHECK(row.at(2).number.value_or(0.0) > 0.0);
      CHECK(row.at(3).number.value_or(1e300) <= options.limits.max_run->value());
    }
  REQUIRE(answer.found);
  CHECK(closed_form(seventy(answer.settings).job).feasible());
}

TEST_CASE("limits: what is not known keeps none", "[planner][limits]") {
  const Job job = eight().job;
  SearchLimits limits;
  Prediction unknown;
  limits.max_step = Seconds{1.0};
  CHECK(run_excess(limits, job, unknown)->rule == "max-step");
  CHECK(run_excess(limits, job, Seconds{std::nan("")})->rule == "max-step");
  limits = {};
  limits.max_run = Seconds{1e9};
  CHECK(run_excess(limits, job, unknown)->rule == "deadline");
  limits = {};
  limits.max_price = Dollars{1e9};
  CHECK(run_excess(limits, job, unknown)->rule == "budget");
  CHECK(std::isinf(run_excess(limits, job, unknown)->ratio));
  limits = {};
  limits.max_power = Watts{1e9};
  Job unpowered = job;
  unpowered.cluster.host.device.power_limit = Watts{};
  unpowered.cluster.host.power_limit = Watts{};
  CHECK(run_excess(limits, unpowered, unknown)->rule == "power-cap");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(memory_excess({}, job.cluster.host.device, {Bytes{nan}, Bytes{nan}}));
}

TEST_CASE("limits: a run that never ends keeps no deadline and has no price", "[planner][limits]") {
  const Scenario endless =
      eight({"operations.mean_time_between_interruptions=2 min", "operations.restart=30 min",
             "operations.checkpoint.every=2 h", "operations.checkpoint.write_bandwidth=1 GB/s",
             "operations.price=2 USD/GPU-hour"});
  const Prediction forecast = closed_form(endless.job);
  REQUIRE(forecast.feasible());
  REQUIRE(forecast.run.goodput.value_or(1.0) < 1e-3);
  CHECK_FALSE(run_duration(forecast));
  CHECK_FALSE(forecast.cost.price);
  CHECK_FALSE(forecast.cost.gpu_hours);
  SearchLimits limits;
  limits.max_run = Seconds{1e12};
  CHECK(run_excess(limits, endless.job, forecast)->rule == "deadline");
  limits = {};
  limits.max_price = Dollars{1e12};
  CHECK(run_excess(limits, endless.job, forecast)->rule == "budget");
}

TEST_CASE("procure: a cluster on which the run never ends, or whose price is unknown, comes last",
          "[planner][procure]") {
  const Scenario workload = eight();
  Scenario endless =
      eight({"operations.mean_time_between_interruptions=2 min", "operations.restart=30 min",
             "operations.checkpoint.every=2 h", "operations.checkpoint.write_bandwidth=1 GB/s"});
  endless.job.name = "endless";
  const Procurement by_time = procure({endless, workload}, {workload});
  CHECK(by_time.ranking.front() == 1);
  const Scenario priced = eight({"operations.price=200 USD/GPU-hour"});
  ProcureOptions options;
  options.by = RankBy::cost;
  const Procurement by_cost = procure({workload, priced}, {workload}, options);
  CHECK(by_cost.ranking.front() == 1);
  CHECK_FALSE(by_cost.clusters.front().price_usd);
}

TEST_CASE("sensitivity: an input with which the run would never end is no lever",
          "[planner][sensitivity]") {
  Scenario edge =
      eight({"operations.mean_time_between_interruptions=2 min", "operations.restart=30 min",
             "operations.checkpoint.every=2 h", "operations.checkpoint.write_bandwidth=1 GB/s"});
  Seconds& between = *edge.job.operations.mean_time_between_interruptions;
  while (!closed_form(edge.job).run.expected) between *= 1.05;
  const Sensitivity result = sensitivity(edge, SensitivityMetric::time, 0.3);
  const auto lever = std::find_if(result.levers.begin(), result.levers.end(),
                                  [](const auto& l) { return l.key == "failure_rate"; });
  CHECK(lever == result.levers.end());
  const auto unmoved = std::find_if(result.unmoved.begin(), result.unmoved.end(),
                                    [](const auto& u) { return u.key == "failure_rate"; });
  REQUIRE(unmoved != result.unmoved.end());
  CHECK(unmoved->why.find("never end") != std::string::npos);
}

TEST_CASE("changes that fit leave room, unless all of the memory is asked for",
          "[planner][change]") {
  const Scenario scenario = too_large();
  REQUIRE_FALSE(closed_form(scenario.job).feasible());
  SearchLimits all;
  all.max_memory_share = 1.0;
  const auto roomy = changes_that_fit(scenario);
  const auto any = changes_that_fit(scenario, all);
  REQUIRE_FALSE(roomy.empty());
  CHECK(any.size() >= roomy.size());
  const Bytes usable = scenario.job.cluster.host.device.usable_memory;
  for (const Change& change : roomy) CHECK(change.peak <= default_memory_share * usable);
}

TEST_CASE("a machine that cannot grow on its network is answered all the same",
          "[planner][change]") {
  // A single switch connects a few hosts; nothing that is tried on it holds this model.
  const Scenario scenario = loaded(
      "schema: 1\n"
      "name: stuck\n"
      "model: megatron-gpt-530b\n"
      "cluster: {host: aws-p5, hosts: 1, fabric: {kind: single-switch, preset: efa-p5}}\n"
      "training: {sequence: 2048, global_batch: 2, tokens: 20 B}\n"
      "parallel: {tensor: 4, sequence: true, zero: 3}\n"
      "memory: {recompute: full}\n");
  CHECK_THROWS_AS(cluster_with_hosts(scenario, 4), ScenarioError);
  CHECK_FALSE(evaluate(scenario).prediction.feasible());
  SolveOptions options;
  options.limits.max_run = Seconds{1e12};
  const SolveAnswer answer = fewest_gpus(scenario, options);
  CHECK_FALSE(answer.found);
  CHECK(answer.sentence.find("were not tried") != std::string::npos);
}

TEST_CASE("a plan that does not fit says what its step would take, marked so",
          "[planner][report]") {
  const EngineKind engine = GENERATE(EngineKind::closed_form, EngineKind::path);
  const Scenario scenario = too_large();
  const Report report = evaluate(scenario, AttentionFlops::full, engine);
  const Prediction& p = report.prediction;
  REQUIRE_FALSE(p.feasible());
  CHECK_FALSE(p.step);
  REQUIRE(p.if_it_fit);
  // The same plan on GPUs that hold it.
  Scenario larger = scenario;
  larger.job.cluster.host.device.usable_memory = 1000.0 * GiB;
  const Report there = evaluate(larger, AttentionFlops::full, engine);
  REQUIRE(there.prediction.step);
  CHECK(p.if_it_fit->step.time == there.prediction.step->time);
  CHECK(p.if_it_fit->efficiency.mfu == there.prediction.efficiency->mfu);

  const Json tree = prediction_tree(report);
  CHECK(tree.at("schema") == "prediction/1");
  CHECK(tree.at("feasible") == false);
  CHECK(tree.at("reasons").at(0).at("rule") == "out-of-memory");
  CHECK(tree.at("step").at("time_s").get<double>() == p.if_it_fit->step.time.value());
  CHECK(tree.at("mfu").get<double>() == p.if_it_fit->efficiency.mfu);
  CHECK(tree.at("run").at("ideal_s").is_null());
  CHECK(tree.at("cost").at("gpu_hours").is_null());
  bool marked = false;
  for (const Json& warning : tree.at("warnings"))
    marked = marked || warning.at("id") == "if-it-fit";
  CHECK(marked);
  const std::string text = report_text(report);
  CHECK(text.find("OUT OF MEMORY") != std::string::npos);
  CHECK(text.find("would take") != std::string::npos);
  CHECK(text.find("Where the step would go if it fit") != std::string::npos);
  CHECK(report_markdown(report).find("if it fit") != std::string::npos);
  CHECK(explain(report, "step.time_s").meaning.find("does not fit") != std::string::npos);
  const StepLosses losses = step_losses(report);
  CHECK_FALSE(losses.feasible);
  CHECK(answer_text(step_losses_answer(report, losses)).find("does not fit") != std::string::npos);
}

TEST_CASE("times of plans that do not fit pass no budget, baseline, sweep or comparison",
          "[planner][report]") {
  Scenario scenario = too_large();
  scenario.job.budget = {{"step.time_s", 1e9, std::nullopt, 0}, {"mfu", std::nullopt, 0.0, 0}};
  const Report report = evaluate(scenario);
  REQUIRE(report.prediction.if_it_fit);
  for (const BudgetVerdict& verdict : judge_budget(report)) {
    CHECK_FALSE(verdict.value);
    CHECK_FALSE(verdict.pass);
  }
  for (const auto& [path, value] : baseline_of(report).values)
    if (path.starts_with("step.") || path == "mfu") CHECK_FALSE(value);
  const SweepMetrics metrics({"step.time_s", "mfu", "tokens_per_s", "hfu"});
  for (const auto& value : metrics.of(report.prediction)) CHECK_FALSE(value);
}

TEST_CASE("fit says what the band says: nothing free is never FITS", "[planner][fit]") {
  const FitReport brim = judge_fit(seventy(brimful()));
  CHECK(brim.memory->peak == brim.memory->usable);
  CHECK(brim.verdict == FitVerdict::fits_barely);
  const std::string text = answer_text(fit_answer(brim));
  CHECK(text.find("FITS BARELY") != std::string::npos);
  CHECK(text.find("0 B free") == std::string::npos);
  CHECK(text.find(", 0.0") == std::string::npos);
}
