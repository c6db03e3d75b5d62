// SPDX-License-Identifier: Apache-2.0
#include "planner/solve/solve.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "models/forecast/closed_form.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/forecast/fit_room.hpp"
#include "planner/search/search.hpp"
#include "planner/solve/internal/solve_parts.hpp"
#include "planner/text/usage_error.hpp"
#include "tests/planner/search/search_fixtures.hpp"
#include "tests/planner/small_run.hpp"

using namespace foretrain;
using foretrain::fixtures::small_scenario;

namespace {

double number(const SolveAnswer& answer, const std::string& key) {
  for (const SolveValue& value : answer.values)
    if (value.key == key) return value.number.value();
  FAIL("no value " << key);
  return 0.0;
}

}  // namespace

TEST_CASE("bisection: the largest good number, however many there are", "[planner][solve]") {
  for (std::int64_t most = 1; most <= 40; ++most)
    for (std::int64_t limit = 0; limit <= most + 2; ++limit) {
      CAPTURE(most, limit);
      int asked = 0;
      const auto good = [&](std::int64_t n) {
        ++asked;
        CHECK((n >= 1 && n <= most));
        return n <= limit;
      };
      CHECK(largest_good(most, good) == std::min(most, limit));
      CHECK(asked <= 2 * std::log2(most) + 2);
    }
  CHECK(largest_good(0, [](std::int64_t) { return true; }) == 0);
}

TEST_CASE("bisection: the least good factor within its resolution", "[planner][solve]") {
  for (const double edge : {0.0123, 0.9, 1.0, 7.7, 999.0}) {
    const auto found = least_good(0.01, 1000.0, 1e-3, [&](double f) { return f >= edge; });
    REQUIRE(found);
    CHECK(*found >= edge);
    CHECK(*found <= edge * 1.001);
  }
  CHECK(least_good(0.5, 2.0, 1e-3, [](double) { return true; }) == 0.5);
  CHECK_FALSE(least_good(0.5, 2.0, 1e-3, [](double) { return false; }));
}

TEST_CASE("solve gpus: one host less breaks the deadline, whatever the plan", "[planner][solve]") {
  const Scenario scenario = small_scenario();
  SolveOptions options;
  options.limits.max_run = Seconds{GENERATE(4.0, 9.0, 30.0) * 86400.0};
  const SolveAnswer answer = fewest_gpus(scenario, options);
  REQUIRE(answer.found);
  CHECK(number(answer, "run_s") <= options.limits.max_run->value());
  const int hosts = static_cast<int>(number(answer, "hosts"));
  // By force: every smaller machine, every plan of the default axes.
  for (int fewer = 1; fewer < hosts; ++fewer) {
    Job job = scenario.job;
    job.cluster = cluster_with_hosts(scenario, fewer);
    const SearchSpace space = default_space(job);
    CAPTURE(fewer);
    for (std::int64_t index = 0; index < space.size(); ++index) {
      const Job plan = job_at(job, space, index);
      if (fixtures::refusal_of(plan, space)) continue;
      const Prediction forecast = closed_form(plan);
      if (!forecast.step) continue;
      if (memory_excess({}, plan.cluster.host.device, forecast.memory->need())) continue;
      REQUIRE(*forecast.run.ideal > *options.limits.max_run);
    }
  }
  // What it says to set comes true.
  std::vector<std::string> settings = answer.settings;
  const Prediction forecast = closed_form(small_scenario(settings).job);
  REQUIRE(forecast.step);
  CHECK(forecast.step->time.value() == Approx(number(answer, "step_s")).epsilon(1e-12));
}

TEST_CASE("solve gpus: of a host that is used in part, its parts come first", "[planner][solve]") {
  const std::vector<std::string> part{"cluster.hosts=1", "cluster.gpus_per_host=2",
                                      "model=llama3.2-1b", "parallel.tensor=1",
                                      "parallel.sequence=false"};
  SolveOptions options;
  options.limits.max_run = Seconds{400.0 * 86400.0};
  const SolveAnswer one = fewest_gpus(small_scenario(part), options);
  REQUIRE(one.found);
  CHECK(number(one, "gpus") == 1.0);
  std::vector<std::string> settings = part;
  settings.insert(settings.end(), one.settings.begin(), one.settings.end());
  CHECK(closed_form(small_scenario(settings).job).step->time.value() ==
        Approx(number(one, "step_s")).epsilon(1e-12));
  // 8B does not fit on one: more GPUs of the host help, not a second host.
  std::vector<std::string> large = part;
  large[2] = "model=llama3-8b";
  const SolveAnswer more = fewest_gpus(small_scenario(large), options);
  REQUIRE(more.found);
  CHECK(number(more, "gpus") > 1.0);
  CHECK(number(more, "hosts") == 1.0);
}

TEST_CASE("solve gpus: a deadline that no machine keeps has no answer", "[planner][solve]") {
  SolveOptions options;
  options.limits.max_run = Seconds{60.0};
  const SolveAnswer answer = fewest_gpus(small_scenario(), options);
  CHECK_FALSE(answer.found);
  CHECK(answer.sentence.find("No machine") != std::string::npos);
}

TEST_CASE("solve model: what is found fits, one more does not", "[planner][solve]") {
  const Scenario scenario = small_scenario({"cluster.hosts=1"});
  const SolveAnswer answer = largest_model(scenario, {});
  REQUIRE(answer.found);
  REQUIRE(answer.rows.size() == 3);
  const int deepest = static_cast<int>(answer.rows[1][2].number.value());
  for (const int layers : {deepest, deepest + 1}) {
    Job job = scenario.job;
    job.model.layers = layers;
    const auto plan = lightest_plan(job, 1);
    REQUIRE(plan);
    CHECK(memory_excess({}, job.cluster.host.device, plan->need).has_value() ==
          (layers != deepest));
  }
  CHECK(number(answer, "parameters") > number(answer, "parameters_now"));
}

TEST_CASE("solve: the lightest plan is no heavier than any plan of the search",
          "[planner][solve]") {
  const Scenario scenario = small_scenario();
  const auto light = lightest_plan(scenario.job, 2);
  REQUIRE(light);
  CHECK(closed_form(light->job).memory->peak == light->need.peak);
  SearchOptions options;
  options.limits.max_memory_share = 1e-12;
  const SearchResult all = search(scenario.job, default_space(scenario.job), options);
  CHECK(light->need.peak.value() <= all.nearest->plan.peak.value() * (1.0 + 1e-9));
}

TEST_CASE("solve sequence: what is found fits, the next step does not", "[planner][solve]") {
  const Scenario scenario = small_scenario({"cluster.hosts=1", "training.global_batch=8"});
  const SolveAnswer answer = longest_sequence(scenario, {});
  REQUIRE(answer.found);
  const int longest = static_cast<int>(number(answer, "sequence"));
  CHECK(longest >= static_cast<int>(number(answer, "sequence_as_planned")));
  for (const int tokens : {longest, longest + 1024}) {
    Job job = scenario.job;
    job.training.sequence = tokens;
    const auto plan = lightest_plan(job, 1);
    const bool fits = plan && !memory_excess({}, job.cluster.host.device, plan->need);
    CAPTURE(tokens);
    CHECK(fits == (tokens == longest));
  }
}

TEST_CASE("solve bandwidth: at the answer a step is as long as asked, with less it is longer",
          "[planner][solve]") {
  const Scenario scenario = small_scenario({"parallel.tensor=8"});
  SolveOptions options;
  options.exposed = GENERATE(0.005, 0.02, 0.1);
  const SolveAnswer answer = needed_bandwidth(scenario, options);
  REQUIRE(answer.found);
  const auto step = [&](double bytes_per_s) {
    Job job = scenario.job;
    job.cluster.network.nic_link.bandwidth = BytesPerSecond{bytes_per_s};
    return closed_form(job).step->time.value();
  };
  const double rate = number(answer, "nic_bandwidth_bytes_per_s");
  const double unlimited = number(answer, "step_unlimited_s");
  CHECK(step(rate) <= unlimited * (1.0 + options.exposed));
  CHECK(step(rate * 0.99) > unlimited * (1.0 + options.exposed));
  // More bandwidth is never slower, so that the answer is the only one.
  double last = 1e300;
  for (int grown = 0; grown < 38; ++grown) {
    const double factor = 0.01 * std::pow(1.3, grown);
    CHECK(step(rate * factor) <= last * (1.0 + 1e-12));
    last = step(rate * factor);
  }
  CHECK_THROWS_AS(needed_bandwidth(small_scenario({"cluster.hosts=1"}), options), UsageError);
}

TEST_CASE("solve price: at the answer both runs cost the same", "[planner][solve]") {
  const Scenario ours = small_scenario();
  const Scenario other = small_scenario({"cluster.host=dgx-a100", "cluster.fabric.preset=ib-hdr"});
  const SolveAnswer answer = break_even_price(ours, other);
  REQUIRE(answer.found);
  Job job = other.job;
  job.operations.price_per_gpu = DollarsPerSecond{number(answer, "price_usd_per_gpu_hour") / 3600};
  CHECK(closed_form(job).cost.price->value() == Approx(number(answer, "run_usd")).epsilon(1e-9));
  CHECK(number(answer, "price_usd_per_gpu_hour") < 2.5);  // an A100 is slower
  CHECK(number(answer, "usd_per_billion_tokens") ==
        Approx(number(answer, "run_usd") / ours.job.training.tokens.value() * 1e9));
  // Wider than the band of either run alone.
  const CostForecast cost = closed_form(ours.job).cost;
  const double price = number(answer, "price_usd_per_gpu_hour");
  CHECK(number(answer, "price_low_usd_per_gpu_hour") < price * (*cost.low.price / *cost.price));
  CHECK(number(answer, "price_high_usd_per_gpu_hour") > price * (*cost.high.price / *cost.price));
  // A run over half the tokens is no cheaper machine: the price turns where a token costs the same.
  Scenario half = other;
  *half.job.training.tokens /= 2.0;
  CHECK(number(break_even_price(ours, half), "price_usd_per_gpu_hour") ==
        Approx(price).epsilon(0.01));
  Scenario free = ours;
  free.job.operations.price_per_gpu.reset();
  CHECK_THROWS_WITH(break_even_price(free, other), Catch::Contains("operations.price"));
  Scenario endless = other;
  endless.job.training.tokens.reset();
  CHECK_THROWS_WITH(break_even_price(ours, endless), Catch::Contains("training.tokens"));
}

TEST_CASE("solve headroom: free and used memory sum to what is usable", "[planner][solve]") {
  const Scenario scenario = small_scenario();
  const SolveAnswer answer = memory_headroom(scenario, {});
  REQUIRE(answer.found);
  CHECK(number(answer, "headroom_bytes") + number(answer, "peak_bytes") ==
        Approx(number(answer, "usable_bytes")));
  REQUIRE(answer.rows.size() == 3);
  CHECK(answer.rows[0][2].number == room_of_micro_batch(scenario.job).largest.value());
  const SolveAnswer none = memory_headroom(
      small_scenario({"parallel.tensor=1", "parallel.sequence=false", "training.micro_batch=2",
                      "memory.recompute=none", "training.sequence=65536"}),
      {});
  CHECK_FALSE(none.found);
  CHECK(none.sentence.find("missing") != std::string::npos);
}

TEST_CASE("solve change: none where the plan fits, else one that does", "[planner][solve]") {
  CHECK(fitting_change(small_scenario(), {}).settings.empty());
  const std::vector<std::string> tight{"parallel.tensor=1", "parallel.sequence=false",
                                       "memory.recompute=none", "training.sequence=32768"};
  const SolveAnswer answer = fitting_change(small_scenario(tight), {});
  REQUIRE(answer.found);
  REQUIRE_FALSE(answer.settings.empty());
  std::vector<std::string> changed = tight;
  changed.insert(changed.end(), answer.settings.begin(), answer.settings.end());
  const Job job = small_scenario(changed).job;
  CHECK(closed_form(job).memory->fits());
}

TEST_CASE("solve batch: throughput never falls as the batch grows", "[planner][solve]") {
  const Scenario scenario = small_scenario({"parallel.pipeline=4"});
  const SolveAnswer answer = batch_growth(scenario, {});
  REQUIRE(answer.rows.size() > 4);
  double last = 0.0;
  for (const auto& row : answer.rows) {
    CHECK(row[2].number.value() >= last);
    last = row[2].number.value();
  }
  CHECK(number(answer, "micro_batch") == room_of_micro_batch(scenario.job).largest.value());
  CHECK(number(answer, "global_batch_enough") < number(answer, "global_batch_tried"));
}

TEST_CASE("solve: text keeps its width, JSON has every value", "[planner][solve]") {
  const SolveAnswer answer = memory_headroom(small_scenario(), {});
  const std::string text = answer_text(solve_answer(answer));
  std::size_t start = 0;
  while (start < text.size()) {
    const std::size_t end = text.find('\n', start);
    CHECK(end - start <= 80);
    start = end + 1;
  }
  const auto json = nlohmann::json::parse(solve_json(answer));
  CHECK(json.at("schema") == "solve/1");
  CHECK(json.at("question") == "headroom");
  for (const SolveValue& value : answer.values)
    CHECK(json.at("values").at(value.key) == value.number.value());
  CHECK(json.at("trials").size() == answer.rows.size());
}
