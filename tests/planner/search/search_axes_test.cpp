// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "models/forecast/closed_form.hpp"
#include "models/rules/plan_rules.hpp"
#include "models/rules/plan_sizes.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/search/search.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/search/search_fixtures.hpp"

using namespace foretrain;
using foretrain::fixtures::small_scenario;
using foretrain::fixtures::small_space;
using foretrain::fixtures::sum_of;

TEST_CASE("plan: a plan that cannot run has no place", "[planner][search]") {
  const Scenario scenario = small_scenario();
  Scenario broken = scenario;
  broken.job.parallel.tensor = 3;
  const PlanReport report =
      plan(scenario, small_space(scenario.job), {}, PlanQuestion{broken, {"parallel.tensor=3"}});
  REQUIRE(report.standing);
  CHECK_FALSE(report.standing->rank);
  CHECK(answer_text(plan_answer(report)).find("It cannot run") != std::string::npos);
}

namespace {

Scenario machine_of(const char* model, const char* host, int hosts, const char* fabric, int batch) {
  return load_scenario_text(
      fmt::format(
          "schema: 1\nname: divided\nmodel: {}\n"
          "cluster: {{host: {}, hosts: {}, fabric: {{kind: rail-optimized, preset: {}}}}}\n"
          "training: {{sequence: 4096, micro_batch: 1, global_batch: {}, precision: bf16}}\n"
          "parallel: {{zero: 1}}\n",
          model, host, hosts, fabric, batch),
      "divided.yaml", std::filesystem::current_path());
}

}  // namespace

TEST_CASE("search: axes are what machine and model divide into", "[planner][search]") {
  const Job rack = machine_of("deepseek-v3", "dgx-gb300", 18, "ib-xdr", 1008).job;
  const PlanSizes sizes = plan_sizes(rack);
  CHECK(sizes.tensor == std::vector<int>{1, 2, 4, 8});  // of 72 GPUs and 128 heads
  CHECK(sizes.pipeline == std::vector<int>{1, 2, 3, 4, 6, 8, 9, 12, 18, 24, 36});  // 61 layers
  CHECK(sizes.context == std::vector<int>{1, 2, 4});
  CHECK(sizes.expert == std::vector<int>{1, 2, 4, 8});  // of 72 GPUs and 256 experts
  CHECK(sizes.micro_batch == std::vector<int>{1, 2, 3, 4, 6, 7, 8});
  const SearchSpace space = default_space(rack);
  CHECK(space.pipeline == sizes.pipeline);
  // Over several machines, what any of them divides into.
  SearchSpace two = space;
  two.machines.push_back(machine_of("deepseek-v3", "dgx-gb300", 16, "ib-xdr", 1008).job.cluster);
  set_sizes(two, rack);
  CHECK(std::count(two.pipeline.begin(), two.pipeline.end(), 32) == 1);
  CHECK(std::count(two.pipeline.begin(), two.pipeline.end(), 9) == 1);
  CHECK(std::count(two.expert.begin(), two.expert.end(), 64) == 1);
}

TEST_CASE("search: machines that are no power of two have plans", "[planner][search]") {
  // One rack of 72; 12 hosts, where 24 were asked for; 288 GPUs and 384 experts.
  CHECK(best_plan(machine_of("deepseek-v3", "dgx-gb300", 18, "ib-xdr", 1024), RankBy::time, 2, {}));
  CHECK(best_plan(machine_of("glm-4.5", "dgx-h100", 12, "ib-ndr", 1024), RankBy::time, 2, {}));
  CHECK(best_plan(machine_of("kimi-k2", "dgx-gb200", 72, "ib-ndr", 1152), RankBy::time, 2, {}));
}

TEST_CASE("search: plans are those that the job's framework runs", "[planner][search]") {
  const Scenario any = load_scenario_text(
      "schema: 1\nname: tuned\nmodel: llama3-8b\n"
      "cluster: {host: dgx-h100, hosts: 2, fabric: {kind: rail-optimized, preset: ib-ndr}}\n"
      "training: {sequence: 4096, micro_batch: 1, global_batch: 64, precision: bf16}\n"
      "parallel: {zero: 3}\nstack: fsdp2\n",
      "tuned.yaml", std::filesystem::current_path());
  Scenario trainer = any;
  trainer.job.parallel.framework = PlanFramework::transformers;
  SearchOptions options;
  options.top = 50;
  const PlanReport plans = plan(trainer, default_space(trainer.job), options);
  REQUIRE_FALSE(plans.plans.empty());
  for (const Finalist& found : plans.plans) {
    const Parallel& parallel = found.report.scenario.job.parallel;
    CHECK(parallel.tensor * parallel.context * parallel.pipeline * parallel.expert == 1);
  }
  REQUIRE(plans.result.rejected.count("framework-has-axis") == 1);
  // Data ranks alone are what the Trainer has; tensor and context ranks need ParallelismConfig.
  const auto refused = [&](PlanFramework framework, int Parallel::*degree) {
    Job job = any.job;
    job.parallel.framework = framework;
    job.parallel.*degree = 2;
    job.parallel.data /= 2;
    for (const Infeasible& reason : broken_rules(job))
      if (reason.rule == "framework-has-axis") return reason.message;
    return std::string();
  };
  CHECK(refused(PlanFramework::transformers, &Parallel::pipeline) ==
        "the Hugging Face Trainer has no pipeline parallelism, but parallel.pipeline is 2");
  CHECK_FALSE(refused(PlanFramework::transformers, &Parallel::tensor).empty());
  CHECK(refused(PlanFramework::accelerate, &Parallel::tensor).empty());
  CHECK_FALSE(refused(PlanFramework::accelerate, &Parallel::pipeline).empty());
  CHECK(refused(PlanFramework::torchtune, &Parallel::tensor).empty());
  CHECK(refused(PlanFramework::any, &Parallel::pipeline).empty());
}

TEST_CASE("search: ranges double or count", "[planner][search]") {
  CHECK(whole_numbers("k", "2..16", 1, 100) == std::vector<int>{2, 4, 8, 16});
  CHECK(whole_numbers("k", "3..20", 1, 100) == std::vector<int>{3, 6, 12, 20});
  CHECK(whole_numbers("k", "1,4..10:3", 1, 100) == std::vector<int>{1, 4, 7, 10});
  CHECK(whole_numbers("k", "1,4..10+3", 1, 100) == std::vector<int>{1, 4, 7, 10});
  CHECK(whole_numbers("k", "2..40*3", 1, 100) == std::vector<int>{2, 6, 18});
  for (const char* bad : {"4..2", "1..", "..4", "1..4:0", "1..2,2"})
    CHECK_THROWS_AS(whole_numbers("k", bad, 1, 100), UsageError);
}

TEST_CASE("search: rank orders are tried where they are listed", "[planner][search]") {
  const Job job = small_scenario().job;
  SearchSpace space = small_space(job);
  const auto names_orders = [](const SearchSpace& of) {
    const auto axes = axes_of(of);
    return std::any_of(axes.begin(), axes.end(),
                       [](const auto& axis) { return axis.first == "parallel.order"; });
  };
  CHECK_FALSE(names_orders(space));
  const std::int64_t before = space.size();
  CHECK_THROWS_WITH(set_axis(space, job, "parallel.order=tp-cp-ep-pp-db"),
                    Catch::Contains("did you mean 'tp-cp-ep-pp-dp'"));
  set_axis(space, job, "parallel.order=tp-cp-ep-dp-pp,tp-cp-ep-pp-dp");
  CHECK(names_orders(space));
  CHECK(space.size() == 2 * before);
  const SearchResult result = search(job, space);
  CHECK(sum_of(result) == space.size());
  CHECK(result.rejected.count("order-needs-both") == 1);
  bool other = false;
  for (std::int64_t index = 0; index < space.size() && !other; ++index) {
    const Job turned = job_at(job, space, index);
    if (turned.parallel.order == job.parallel.order || turned.parallel.data == 0) continue;
    const auto settings = settings_at(job, space, index);
    other = std::count(settings.begin(), settings.end(), "parallel.order=tp-cp-ep-pp-dp") == 1;
  }
  CHECK(other);
  for (const ScoredPlan& plan : result.best)
    CHECK(closed_form(job_at(job, space, plan.index)).step->time.value() ==
          Approx(plan.step.value()).epsilon(1e-12));

  set_axis(space, job, "parallel.order=tp-cp-ep-pp-dp");
  CHECK_THAT(answer_text(plan_answer(plan(small_scenario(), space, {}))),
             Catch::Contains("order pp-dp"));
}

TEST_CASE("search: data ranks that no plan leaves contradict the machine", "[planner][search]") {
  const Job job = small_scenario().job;
  SearchSpace space = default_space(job);
  set_axis(space, job, "parallel.data=3");
  CHECK_THROWS_WITH(check_space(space), Catch::Contains("contradicts"));
}

TEST_CASE("search: experts only where the ranks of a stage can hold them", "[planner][search]") {
  const Scenario scenario = load_scenario_text(
      "schema: 1\n"
      "name: experts\n"
      "model: mixtral-8x7b\n"
      "cluster: {host: dgx-h100, hosts: 4, fabric: {kind: single-switch, preset: ib-ndr}}\n"
      "training: {sequence: 4096, micro_batch: 1, global_batch: 64}\n"
      "parallel: {tensor: 2, sequence: true, pipeline: 2, zero: 1}\n"
      "stack: megatron-core\n",
      "experts.yaml", std::filesystem::current_path());
  const SearchSpace space = default_space(scenario.job);
  CHECK(space.expert == std::vector<int>{1, 2, 4, 8});
  const SearchResult result = search(scenario.job, space);
  CHECK(result.rejected.count("experts-divide-ranks") == 1);
  CHECK(sum_of(result) == space.size());
  REQUIRE(result.feasible > 0);
  for (const ScoredPlan& plan : result.best)
    CHECK(closed_form(job_at(scenario.job, space, plan.index)).feasible());
}

TEST_CASE("search: what a plan sets leads to the same forecast", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const PlanReport report = plan(scenario, small_space(scenario.job));
  REQUIRE(report.plans.size() == 10);
  for (const Finalist& finalist : report.plans) {
    LoadOptions options;
    options.overrides = finalist.settings;
    const Scenario again = load_scenario_text(
        "schema: 1\n"
        "name: small\n"
        "model: llama3-8b\n"
        "cluster: {host: dgx-h100, hosts: 4, fabric: {kind: single-switch, preset: ib-ndr}}\n"
        "training: {sequence: 8192, micro_batch: 1, global_batch: 64, tokens: 100 B}\n"
        "stack: megatron-core\n",
        "again.yaml", std::filesystem::current_path(), options);
    const Prediction forecast = closed_form(again.job);
    REQUIRE(forecast.step);
    CHECK(forecast.step->time.value() == Approx(finalist.scored.step.value()).epsilon(1e-12));
  }
}

TEST_CASE("search: finalists are ordered by their critical path", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const PlanReport report = plan(scenario, small_space(scenario.job));
  for (std::size_t i = 0; i < report.plans.size(); ++i) {
    CHECK(report.plans[i].report.prediction.engine == EngineKind::path);
    if (i > 0)
      CHECK(report.plans[i - 1].report.prediction.step->time <=
            report.plans[i].report.prediction.step->time);
  }
  const auto json = nlohmann::json::parse(plan_json(report));
  CHECK(json.at("schema") == "plan/1");
  CHECK(json.at("plans").size() == 10);
  CHECK(json.at("evaluated") == report.result.evaluated);
  CHECK(json.at("rejected").at("gpus") == report.result.rejected.at("gpus").count);
}

TEST_CASE("search: axes that do not exist or hold no value are refused", "[planner][search]") {
  const Job job = small_scenario().job;
  SearchSpace space = default_space(job);
  CHECK_THROWS_WITH(set_axis(space, job, "parallel.tensr=2"),
                    Catch::Contains("did you mean 'parallel.tensor'"));
  CHECK_THROWS_WITH(set_axis(space, job, "parallel.schedule=1f1"),
                    Catch::Contains("did you mean '1f1b'"));
  CHECK_THROWS_AS(set_axis(space, job, "parallel.tensor"), UsageError);
  for (const char* bad : {"parallel.tensor=0", "parallel.tensor=", "parallel.tensor=2,",
                          "parallel.zero=4", "parallel.tensor=2,2", "parallel.tensor=2x",
                          "memory.recompute=given", "training.micro_batch=99999999999999"})
    CHECK_THROWS_AS(set_axis(space, job, bad), UsageError);
  space.tensor.clear();
  CHECK_THROWS_AS(check_space(space), UsageError);
}

TEST_CASE("search: a scenario's own recomputation is tried too", "[planner][search]") {
  Job job = small_scenario().job;
  CHECK(default_space(job).recompute.size() == 3);
  job.memory.recompute = {RecomputeKind::full, RecomputeMethod::block, 4};
  SearchSpace space = default_space(job);
  REQUIRE(space.recompute.size() == 4);
  CHECK(space.recompute.back().name == "given");
  set_axis(space, job, "memory.recompute=given");
  const Job tried = job_at(job, space, 0);
  CHECK(tried.memory.recompute.layers == 4);
  for (const std::string& setting : settings_at(job, space, 0))
    CHECK_FALSE(setting.starts_with("memory.recompute"));
}

TEST_CASE("scenario_with: later settings replace groups and values", "[planner][search]") {
  CHECK(scenario_with("base.yaml", "best",
                      {"name=x", "memory.recompute.layers=2", "parallel.tensor=2",
                       "parallel.tensor=4", "memory.recompute=full"}) ==
        "schema: 1\n"
        "extends: base.yaml\n"
        "name: best\n"
        "memory:\n"
        "  recompute: full\n"
        "parallel:\n"
        "  tensor: 4\n");
  CHECK_THROWS_AS(scenario_with("base.yaml", "best", {"budget[0].max=1"}), UsageError);
}

TEST_CASE("search: the first finalists are played on their fabric and ordered by it",
          "[planner][search]") {
  LoadOptions load;
  load.overrides = {"cluster.hosts=4"};
  const Scenario scenario =
      load_scenario(std::string(FORETRAIN_SOURCE_DIR) + "/scenarios/llama3-8b-8xh100.yaml", load);
  SearchOptions options;
  options.top = 5;
  const SearchSpace space = default_space(scenario.job);
  const PlanReport by_path = plan(scenario, space, options);
  REQUIRE(by_path.plans.size() == 5);
  options.on_fabric = 3;
  const PlanReport played = plan(scenario, space, options);
  REQUIRE(played.plans.size() == 5);
  const auto step = [](const Finalist& plan) { return plan.report.prediction.step->time; };
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(played.plans[i].report.prediction.engine ==
          (i < 3 ? EngineKind::event : EngineKind::path));
    if (i == 1 || i == 2) CHECK(step(played.plans[i - 1]) <= step(played.plans[i]));
  }
  // The same three plans, none faster than by path.
  for (std::size_t i = 0; i < 3; ++i) {
    const auto same = std::find_if(
        by_path.plans.begin(), by_path.plans.begin() + 3,
        [&](const Finalist& plan) { return plan.scored.index == played.plans[i].scored.index; });
    REQUIRE(same != by_path.plans.begin() + 3);
    CHECK(step(played.plans[i]).value() >= step(*same).value() * (1.0 - 1e-9));
  }
}
