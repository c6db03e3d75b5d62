// SPDX-License-Identifier: Apache-2.0
#include "planner/search/plan_report.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "models/forecast/closed_form.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/search/search_fixtures.hpp"

using namespace foretrain;
using foretrain::fixtures::small_scenario;
using foretrain::fixtures::small_space;
using foretrain::fixtures::sum_of;

namespace {

/// The search as a plain loop over whole forecasts, none of its own shortcuts.
struct BruteForce {
  std::vector<std::tuple<double, double, std::int64_t>> feasible;  ///< step, peak, index
  std::map<std::string, std::int64_t> rejected;

  BruteForce(const Job& base, const SearchSpace& space) {
    for (std::int64_t index = 0; index < space.size(); ++index) {
      const Job job = job_at(base, space, index);
      if (const auto reason = fixtures::refusal_of(job, space)) {
        ++rejected[reason->rule];
        continue;
      }
      const Prediction forecast = closed_form(job);
      // A plan that may fit is a person's to try; a search offers those that are forecast to.
      if (forecast.step && forecast.memory->fits())
        feasible.emplace_back(forecast.step->time.value(), forecast.memory->peak.value(), index);
      else
        ++rejected[forecast.step ? "out-of-memory" : forecast.reasons.front().rule];
    }
    std::sort(feasible.begin(), feasible.end());
  }
};

void check_same(const SearchResult& a, const SearchResult& b) {
  CHECK(a.evaluated == b.evaluated);
  CHECK(a.feasible == b.feasible);
  REQUIRE(a.best.size() == b.best.size());
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    CHECK(a.best[i].index == b.best[i].index);
    CHECK(a.best[i].step == b.best[i].step);
  }
  REQUIRE(a.rejected.size() == b.rejected.size());
  for (const auto& [rule, rejection] : a.rejected) {
    CAPTURE(rule);
    REQUIRE(b.rejected.count(rule) == 1);
    CHECK(rejection.count == b.rejected.at(rule).count);
    CHECK(rejection.example == b.rejected.at(rule).example);
  }
}

}  // namespace

TEST_CASE("search: finds what a loop over whole forecasts finds", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = small_space(scenario.job);
  const BruteForce expected(scenario.job, space);
  SearchOptions options;
  options.top = GENERATE(1U, 25U);
  options.limits.max_memory_share = 1.0;  // what runs at all
  const SearchResult result = search(scenario.job, space, options);

  REQUIRE(expected.feasible.size() > 100);
  CHECK(result.feasible == static_cast<std::int64_t>(expected.feasible.size()));
  REQUIRE(result.best.size() == options.top);
  for (std::size_t i = 0; i < result.best.size(); ++i) {
    CAPTURE(i);
    CHECK(result.best[i].index == std::get<2>(expected.feasible[i]));
    CHECK(result.best[i].step.value() == std::get<0>(expected.feasible[i]));
    CHECK(result.best[i].peak.value() == std::get<1>(expected.feasible[i]));
  }
  REQUIRE(result.rejected.size() == expected.rejected.size());
  for (const auto& [rule, count] : expected.rejected) {
    CAPTURE(rule);
    REQUIRE(result.rejected.count(rule) == 1);
    CHECK(result.rejected.at(rule).count == count);
  }
}

TEST_CASE("search: feasible and rejected combinations sum to the space", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = small_space(scenario.job);
  // 4 tensor x 4 pipeline x 4 context x 3 virtual stages x 4 schedules x 2 ZeRO x 2 micro-batches
  // x 3 granularities
  CHECK(space.size() == std::int64_t{4} * 4 * 4 * 3 * 4 * 2 * 2 * 3);
  const double share = GENERATE(0.2, 0.6, 1.0);
  SearchOptions options;
  options.limits.max_memory_share = share;
  options.limits.max_step = Seconds{5.0};
  const SearchResult result = search(scenario.job, space, options);
  CHECK(result.complete());
  CHECK(sum_of(result) == space.size());
  const Bytes usable = scenario.job.cluster.host.device.usable_memory;
  for (const ScoredPlan& plan : result.best) {
    CHECK(plan.peak <= usable * share);
    CHECK(plan.step <= Seconds{5.0});
  }
}

TEST_CASE("search: any number of threads gives the same result", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = small_space(scenario.job);
  SearchOptions options;
  options.threads = 1;
  const PlanReport one = plan(scenario, space, options);
  options.threads = GENERATE(2, 5);
  const PlanReport more = plan(scenario, space, options);
  check_same(one.result, more.result);
  CHECK(plan_json(one) == plan_json(more));
  CHECK(answer_text(plan_answer(one)) == answer_text(plan_answer(more)));
}

TEST_CASE("search: axes that are fixed or listed are respected", "[planner][search]") {
  const Scenario scenario = small_scenario();
  SearchSpace space = default_space(scenario.job);
  set_axis(space, scenario.job, "parallel.tensor=4");
  set_axis(space, scenario.job, "parallel.data=2,4");
  set_axis(space, scenario.job, "memory.recompute=full");
  const SearchResult result = search(scenario.job, space);
  REQUIRE_FALSE(result.best.empty());
  CHECK(result.rejected.count("data-not-listed") == 1);
  for (const ScoredPlan& plan : result.best) {
    const Job job = job_at(scenario.job, space, plan.index);
    CHECK(job.parallel.tensor == 4);
    CHECK((job.parallel.data == 2 || job.parallel.data == 4));
    CHECK(job.memory.recompute.kind == RecomputeKind::full);
    CHECK(job.parallel.gpus() == 32);
  }
}

TEST_CASE("search: the scenario's own plan is never better than the winner", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const Prediction own = closed_form(scenario.job);
  REQUIRE(own.step);
  const SearchResult result = search(scenario.job, default_space(scenario.job));
  REQUIRE_FALSE(result.best.empty());
  CHECK(result.best.front().step <= own.step->time);
}

TEST_CASE("search: a time-box or a stop from outside ends it early", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = small_space(scenario.job);
  SearchOptions options;
  SECTION("time-box") { options.time_box = Seconds{1e-9}; }
  const std::atomic<bool> stop{true};
  SECTION("stop") { options.stop = &stop; }
  const SearchResult result = search(scenario.job, space, options);
  CHECK_FALSE(result.complete());
  CHECK(sum_of(result) == result.evaluated);
}

TEST_CASE("search: without memory enough the lightest plan is the nearest", "[planner][search]") {
  Scenario scenario = small_scenario();
  scenario.job.cluster.host.device.usable_memory = 4.0 * GiB;
  const SearchSpace space = small_space(scenario.job);
  const SearchResult result = search(scenario.job, space);
  CHECK(result.feasible == 0);
  REQUIRE(result.nearest);
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const Job job = job_at(scenario.job, space, index);
    if (fixtures::refusal_of(job, space)) continue;
    REQUIRE(result.nearest->plan.peak <= closed_form(job).memory->peak);
  }
  const PlanReport report = plan(scenario, space);
  CHECK(answer_text(plan_answer(report)).find("NOTHING FITS") != std::string::npos);
  CHECK(answer_text(plan_answer(report)).find("are missing") != std::string::npos);
}

TEST_CASE("search: a step limit that nothing keeps names the fastest plan", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = small_space(scenario.job);
  const SearchResult all = search(scenario.job, space);
  SearchOptions options;
  options.limits.max_step = all.best.front().step * 0.5;
  const SearchResult result = search(scenario.job, space, options);
  CHECK(result.feasible == 0);
  REQUIRE(result.nearest);
  CHECK(result.nearest->plan.index == all.best.front().index);
}

TEST_CASE("search: no plan beats one of the front in both time and cost", "[planner][search]") {
  const Scenario scenario = small_scenario();
  SearchSpace space = small_space(scenario.job);
  for (const int hosts : {1, 2, 8}) {
    Cluster machine = scenario.job.cluster;
    machine.hosts = hosts;
    space.machines.push_back(machine);
  }
  SearchOptions options;
  options.top = 1000;
  const SearchResult result = search(scenario.job, space, options);
  REQUIRE(result.pareto.size() > 1);
  const auto cost = [&](const ScoredPlan& plan) {
    return plan.step.value() * job_at(scenario.job, space, plan.index).cluster.gpus();
  };
  for (const ScoredPlan& front : result.pareto)
    for (const ScoredPlan& plan : result.best)
      CHECK_FALSE((plan.step < front.step && cost(plan) < cost(front)));
  options.by = RankBy::cost;
  const SearchResult cheapest = search(scenario.job, space, options);
  CHECK(cheapest.best.front().index == result.pareto.back().index);
  options.by = RankBy::gpus;
  const SearchResult fewest = search(scenario.job, space, options);
  CHECK(job_at(scenario.job, space, fewest.best.front().index).cluster.hosts == 1);
}

namespace {

/// Three machines and two batches of the small scenario.
SearchSpace mixed_space(const Scenario& scenario) {
  SearchSpace space = small_space(scenario.job);
  set_axis(space, scenario.job, "training.global_batch=64,128");
  set_axis(space, scenario.job, "parallel.virtual_stages=1,2");
  set_axis(space, scenario.job, "parallel.schedule=1f1b,interleaved");
  space.machines.clear();
  for (const int hosts : {2, 4, 8}) space.machines.push_back(cluster_with_hosts(scenario, hosts));
  return space;
}

/// Every feasible combination with its key, in the order of the ranking.
std::vector<std::tuple<PlanKey, double, std::int64_t>> ranked_by_force(
    const Job& base, const SearchSpace& space, RankBy by, const SearchLimits& limits = {}) {
  std::vector<std::tuple<PlanKey, double, std::int64_t>> ranked;
  for (std::int64_t index = 0; index < space.size(); ++index) {
    const Job job = job_at(base, space, index);
    if (fixtures::refusal_of(job, space)) continue;
    const ScoredPlan plan = score(job);
    if (memory_excess(limits, job.cluster.host.device, plan.need())) continue;
    if (run_excess(limits, job, plan.step)) continue;
    ranked.emplace_back(plan_key(job, by, plan.step), plan.peak.value(), index);
  }
  std::sort(ranked.begin(), ranked.end());
  return ranked;
}

}  // namespace

TEST_CASE("search: every ranking keeps the plans that a loop over all keeps",
          "[planner][search][property]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = mixed_space(scenario);
  SearchOptions options;
  options.by = GENERATE(RankBy::time, RankBy::cost, RankBy::energy, RankBy::gpus);
  options.top = GENERATE(1U, 20U);
  options.threads = GENERATE(1, 3);
  const auto expected = ranked_by_force(scenario.job, space, options.by);
  const SearchResult result = search(scenario.job, space, options);
  REQUIRE(expected.size() > 100);
  CHECK(result.feasible == static_cast<std::int64_t>(expected.size()));
  REQUIRE(result.best.size() == options.top);
  for (std::size_t i = 0; i < options.top; ++i) {
    CAPTURE(i);
    CHECK(result.best[i].index == std::get<2>(expected[i]));
  }
}

TEST_CASE("search: plans before a reference are all counted, however many are kept",
          "[planner][search][property]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = mixed_space(scenario);
  SearchOptions options;
  options.by = GENERATE(RankBy::time, RankBy::cost, RankBy::gpus);
  options.top = 1;
  const auto ranked = ranked_by_force(scenario.job, space, options.by);
  const std::size_t place = GENERATE(std::size_t{0}, std::size_t{7}, std::size_t{90});
  options.reference = std::get<0>(ranked.at(place));
  const auto before = std::count_if(ranked.begin(), ranked.end(), [&](const auto& plan) {
    return std::get<0>(plan) < *options.reference;
  });
  CHECK(search(scenario.job, space, options).better == before);
}

TEST_CASE("search: limits keep what a loop over all keeps", "[planner][search][property]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = mixed_space(scenario);
  SearchOptions options;
  options.limits.max_memory_share = 1.0;
  const auto all = ranked_by_force(scenario.job, space, RankBy::time, options.limits);
  const std::int64_t middle = std::get<2>(all[all.size() / 2]);
  const Job job = job_at(scenario.job, space, middle);
  const Prediction forecast = closed_form(job);
  options.top = 1000;
  std::string rule;
  SECTION("deadline") {
    options.limits.max_run = run_duration(forecast);
    rule = "deadline";
  }
  SECTION("budget") {
    options.limits.max_price = forecast.cost.price;
    rule = "budget";
  }
  SECTION("power") {
    options.limits.max_power = job.cluster.host.device.power_limit * 33.0;
    rule = "power-cap";
  }
  SECTION("headroom") {
    options.limits.headroom = 20.0 * GiB;
    rule = "headroom";
  }
  const auto kept = ranked_by_force(scenario.job, space, RankBy::time, options.limits);
  const SearchResult result = search(scenario.job, space, options);
  REQUIRE_FALSE(kept.empty());
  REQUIRE(kept.size() < all.size());
  CHECK(result.feasible == static_cast<std::int64_t>(kept.size()));
  REQUIRE(result.rejected.count(rule) == 1);
  CHECK(result.rejected.at(rule).count == static_cast<std::int64_t>(all.size() - kept.size()));
  for (std::size_t i = 0; i < result.best.size(); ++i)
    CHECK(result.best[i].index == std::get<2>(kept[i]));
}

TEST_CASE("search: the nearest plan exceeds its limits by least", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = mixed_space(scenario);
  SearchOptions options;
  options.limits.max_run = Seconds{3600.0};
  options.limits.max_price = Dollars{100.0};
  const SearchResult result = search(scenario.job, space, options);
  CHECK(result.feasible == 0);
  REQUIRE(result.nearest);
  double least = 1e300;
  for (const auto& [key, peak, index] : ranked_by_force(scenario.job, space, RankBy::time)) {
    const Job job = job_at(scenario.job, space, index);
    least = std::min(least, run_excess(options.limits, job, score(job).step)->ratio);
  }
  CHECK(result.nearest->excess.ratio == least);
  const PlanReport report = plan(scenario, space, options);
  CHECK(answer_text(plan_answer(report)).find("NO PLAN ") != std::string::npos);
  CHECK(nlohmann::json::parse(plan_json(report)).at("nearest").at("over_limit") == least);
}

TEST_CASE("search: offloading is refused by name, sequence parallelism is an axis",
          "[planner][search]") {
  const Scenario scenario = small_scenario();
  SearchSpace space = small_space(scenario.job);
  set_axis(space, scenario.job, "memory.offload=none,optimizer+parameters");
  set_axis(space, scenario.job, "parallel.sequence=true,false");
  const SearchResult result = search(scenario.job, space);
  CHECK(sum_of(result) == space.size());
  REQUIRE(result.rejected.count("not-modelled") == 1);
  CHECK(result.rejected.at("not-modelled").example.find("offloaded parameters") !=
        std::string::npos);
  CHECK(result.rejected.count("sequence-needs-tensor") == 1);
  space.offload = {OffloadKind::none};
  const auto ranked = ranked_by_force(scenario.job, space, RankBy::time);
  bool without = false;
  for (const auto& [key, peak, index] : ranked) {
    const Job job = job_at(scenario.job, space, index);
    without = without || (job.parallel.tensor > 1 && !job.parallel.sequence);
  }
  CHECK(without);
}

TEST_CASE("plan: the scenario's own plan knows its place", "[planner][search]") {
  const Scenario scenario = small_scenario();
  const SearchSpace space = small_space(scenario.job);
  const PlanReport report = plan(scenario, space, {}, PlanQuestion{scenario, {}});
  REQUIRE(report.standing);
  REQUIRE(report.standing->rank);
  const auto ranked = ranked_by_force(scenario.job, space, RankBy::time);
  const PlanKey own = plan_key(scenario.job, RankBy::time, score(scenario.job).step);
  const auto before = std::count_if(ranked.begin(), ranked.end(),
                                    [&](const auto& plan) { return std::get<0>(plan) < own; });
  CHECK(*report.standing->rank == before + 1);
  CHECK(answer_text(plan_answer(report)).find("Rank of your plan") != std::string::npos);
  const auto json = nlohmann::json::parse(plan_json(report)).at("standing");
  CHECK(json.at("rank") == before + 1);
  CHECK(json.at("gap").get<double>() >= 0.0);
}
