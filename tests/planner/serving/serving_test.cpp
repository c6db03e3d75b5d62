// SPDX-License-Identifier: Apache-2.0
// Deployments of scenarios under their load; searches over them.
#include <catch2/catch.hpp>

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/serving/forward_step.hpp"
#include "models/serving/steady_load.hpp"
#include "planner/post_training/post_training_study.hpp"
#include "planner/serving/serving_fit.hpp"
#include "planner/serving/serving_search.hpp"
#include "tests/json_schema.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

const std::filesystem::path source = FORETRAIN_SOURCE_DIR;

Scenario serving_scenario(const std::string& name, std::vector<std::string> overrides = {}) {
  LoadOptions options;
  options.purpose = Purpose::serving;
  options.overrides = std::move(overrides);
  Scenario scenario = load_scenario(source / "scenarios/serving" / (name + ".yaml"), options);
  scenario.path = name + ".yaml";  // outputs repeat it: their width must not be the checkout's
  return scenario;
}

/// The chat service for a minute and a half.
Scenario chat(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"serving.duration=90 s", "serving.warm_up=10 s"});
  return serving_scenario("llama3.1-70b-8xh100", more);
}

std::string wrong_of(const char* schema, const std::string& json) {
  return test::schema_errors(source / "planner/schemas" / schema, nlohmann::json::parse(json));
}

void check_narrow(const std::string& text) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    CHECK(display_width(line) <= 80);
  }
}

}  // namespace

TEST_CASE("every serving scenario runs, and its result keeps the schema", "[planner][serving]") {
  for (const auto& entry : std::filesystem::directory_iterator(source / "scenarios/serving")) {
    if (entry.path().extension() != ".yaml") continue;
    CAPTURE(entry.path());
    const Scenario scenario = serving_scenario(
        entry.path().stem().string(), {"serving.requests.number=300", "serving.warm_up=1 s"});
    const ServingReport report = study_serving(scenario);
    REQUIRE(report.ready.reasons.empty());
    CHECK(report.sample.complete);
    CHECK(report.summary.requests > 200);
    CHECK(report.cost);
    CHECK(wrong_of("serving.schema.json", serving_json(report)).empty());
    check_narrow(answer_text(serving_answer(report)));
    const ServingFit fit = judge_serving_fit(scenario);
    CHECK(fit.reasons.empty());
    CHECK(wrong_of("serving-memory.schema.json", serving_fit_json(fit)).empty());
    check_narrow(answer_text(serving_fit_answer(fit)));
    for (const PoolFit& pool : fit.pools) CHECK(pool.memory.fits());
  }
}

TEST_CASE("clients that wait for answers: the events agree with the closed form",
          "[planner][serving]") {
  const int clients = GENERATE(1, 16, 128);
  const Scenario scenario =
      chat({"serving.requests.arrivals=closed",
            "serving.requests.concurrency=" + std::to_string(clients),
            "serving.requests.number=" + std::to_string(20 * clients), "serving.replicas=1",
            "serving.requests.prompt={tokens: 1024, variation: 0}",
            "serving.requests.output={tokens: 256, variation: 0}"});
  const ServingReport report = study_serving(scenario);
  const SteadyLoad closed = closed_loop(report.ready.serve.deployment, {1024.0, 256.0, 0.0},
                                        {static_cast<double>(clients), 20.0});
  CAPTURE(clients);
  CHECK(report.summary.output_tokens_per_s == Approx(closed.output_tokens_per_s).epsilon(0.1));
  // The closed form spreads the prompts over all steps: 10 to 13 % more per token.
  CHECK(report.summary.tpot.mean == Approx(closed.tpot.value()).epsilon(0.15));
}

TEST_CASE("times without queueing are those of steps", "[planner][serving]") {
  const Scenario scenario =
      chat({"serving.requests.arrivals=closed", "serving.requests.concurrency=1",
            "serving.requests.number=10", "serving.replicas=1",
            "serving.requests.prompt={tokens: 1024, variation: 0}",
            "serving.requests.output={tokens: 256, variation: 0}"});
  const ServingReport report = study_serving(scenario);
  const Deployment& deployment = report.ready.serve.deployment;
  const std::array prompt{PrefillChunk{1024.0, 0.0}};
  const Seconds before = deployment.engine.times.per_request +
                         step_time(deployment, {.prefill = prompt, .finished_prompts = 1.0}).first;
  CHECK(report.summary.ttft.mean == Approx((report.prompt + before).value()).epsilon(1e-5));
  CHECK(report.summary.tpot.mean == Approx(report.decode.time.total().value()).epsilon(0.02));
}

TEST_CASE("overloaded: answered is what capacity allows, and one verdict says so",
          "[planner][serving]") {
  const ServingReport report = study_serving(
      chat({"cluster.hosts=1", "serving.duration=20 min", "serving.requests.rate=4000 per min",
            "serving.requests.output={tokens: 256, variation: 0}"}));
  const ServingSummary& seen = report.summary;
  REQUIRE(seen.overloaded);
  CHECK(seen.requests_per_s < 40.0);
  CHECK(seen.output_tokens_per_s == Approx(256.0 * seen.requests_per_s).epsilon(0.15));
  CHECK(report.cost->per_million_tokens ==
        Approx(20.0 / 3600.0 * 1e6 / (seen.output_tokens_per_s + seen.prompt_tokens_per_s)));
  CHECK(report.verdict() == ServingVerdict::overloaded);
  CHECK(nlohmann::json::parse(serving_json(report)).at("verdict") == "overloaded");
  CHECK(serving_answer(report).head.words == "OVERLOADED");
  CHECK(test::has(serving_answer(report).head.sentence, "of the 6"));
  const auto figures = figures_of(serving_values(), report, true);
  CHECK(std::isinf(find_figure(figures, "results.ttft_s.p90")->band->high));
  CHECK(find_figure(figures, "results.output_tokens_per_s")->band->high >
        1.1 * seen.output_tokens_per_s);
}

TEST_CASE("no band of an output lies above what is asked for", "[planner][serving]") {
  const std::string rate = GENERATE("1 per s", "2000 per min", "4000 per min", "7000 per min");
  CAPTURE(rate);
  const ServingReport report =
      study_serving(chat({"serving.requests.rate=" + rate, "serving.duration=4 min",
                          "serving.requests.output={tokens: 256, variation: 0}"}));
  const auto figures = figures_of(serving_values(), report, true);
  const double asked = 256.0 * report.summary.submitted_per_s;
  const Banded output = *find_figure(figures, "results.output_tokens_per_s")->band;
  CHECK(output.low <= output.value);
  CHECK(output.value <= output.high);
  // Requests under way at either end of the counted time.
  CHECK(output.high <= 1.05 * asked);
  const Banded first = *find_figure(figures, "results.ttft_s.p90")->band;
  const bool keeps_up = report.ends.slow && !report.ends.slow->summary.overloaded;
  CHECK(std::isinf(first.high) == !keeps_up);
  if (keeps_up) {
    CHECK(output.low > 0.95 * output.value);
  } else {
    CHECK(output.low < 0.95 * output.value);
    CHECK(report.verdict() != ServingVerdict::ok);
  }
  if (rate == "1 per s") CHECK(report.verdict() == ServingVerdict::ok);
  if (rate == "7000 per min") CHECK(!keeps_up);
}

TEST_CASE("experts in 8 bits that no record is like: measured times lie in a wide band",
          "[planner][serving]") {
  // Qwen3.6-35B-A3B-FP8 on one H100 NVL, one client, 122 tokens in and 512 out: 6.68 ms a token by
  // vLLM 0.26, 7.08 by 0.24, 23.9 by 0.29 (github.com/vllm-project/vllm/issues/57680).
  LoadOptions options;
  options.purpose = Purpose::serving;
  const Scenario scenario = load_scenario_text(
      "schema: 1\nname: few\nmodel: qwen3.6-35b-a3b\n"
      "cluster: {host: pcie-h100-nvl, hosts: 1, gpus_per_host: 1, fabric: {kind: single-switch, "
      "preset: ib-ndr}}\n"
      "serving:\n  engine: vllm\n  replicas: 1\n  precision: {weights: fp8-block}\n"
      "  batching: {sequences: 64}\n"
      "  requests: {arrivals: closed, concurrency: 1, number: 8, prompt: {tokens: 122}, "
      "output: {tokens: 512}}\n",
      "few.yaml", std::filesystem::current_path(), options);
  const ServingReport report = study_serving(scenario);
  const auto figures = figures_of(serving_values(), report, true);
  const Banded token = *find_figure(figures, "results.tpot_s.p50")->band;
  CHECK(token.value == Approx(6.68e-3).epsilon(0.2));
  for (const double measured : {6.68e-3, 7.08e-3, 23.9e-3}) {
    CHECK(token.low <= measured);
    CHECK(measured <= token.high);
  }
  CHECK(test::has(answer_text(serving_answer(report)), "read every expert in every step"));
}

TEST_CASE("what is paid for is whole hosts", "[planner][serving]") {
  const ServingReport report = study_serving(chat({"serving.replicas=5"}));
  CHECK(report.ready.gpus() == 20);
  CHECK(report.paid_gpus() == 24.0);
  CHECK(report.cost->dollars_per_hour == Approx(24 * 2.5));
  CHECK(test::has(answer_text(serving_answer(report)), "for the 24 GPUs of whole hosts"));
}

TEST_CASE("the chance to keep the goals falls with the load, and agrees with the verdict",
          "[planner][serving]") {
  double before = 1.0;
  for (const char* rate : {"100 per min", "2000 per min", "4000 per min", "8000 per min"}) {
    CAPTURE(rate);
    const ServingReport report = study_serving(
        chat({std::string("serving.requests.rate=") + rate, "serving.duration=4 min"}));
    REQUIRE(report.chance);
    CHECK(*report.chance <= before + 0.05);
    before = *report.chance;
    if (report.verdict() == ServingVerdict::ok) CHECK(*report.chance >= 0.9);
    if (!report.keeps_goals()) CHECK(*report.chance <= 0.5);
    if (report.verdict() == ServingVerdict::at_risk) CHECK(*report.chance < 0.95);
  }
  CHECK(before < 0.2);
  // Clients that wait for their answers, without goals: nothing is asked.
  CHECK_FALSE(study_serving(serving_scenario("gpt-oss-120b-1xh100")).chance);
}

TEST_CASE("fewest GPUs: one replica less misses, and the same figures come again",
          "[planner][serving]") {
  const Scenario scenario = chat();
  const ServingSearch search = fewest_gpus(scenario);
  REQUIRE(!search.points.empty());
  const ServingPoint& best = search.points.front();
  REQUIRE(best.keeps_goals);
  CHECK(best.whole);
  CHECK(wrong_of("serving-search.schema.json", serving_search_json(scenario, search, "fewest"))
            .empty());
  check_narrow(answer_text(fewest_answer(scenario, search)));
  REQUIRE(search.fewest_fast);
  CHECK(*search.fewest_fast <= best.gpus);
  if (search.fewest_slow) CHECK(*search.fewest_slow >= best.gpus);
  const ServingReport again = study_serving(chat(overrides_of(best, *scenario.serving)));
  CHECK(again.keeps_goals());
  CHECK(again.ready.gpus() == best.gpus);
  CHECK(again.summary.ttft.p90 == best.summary.ttft.p90);
  CHECK(again.summary.output_tokens_per_s == best.summary.output_tokens_per_s);
  CHECK(again.cost->per_million_output == best.cost->per_million_output);
  if (best.plan.layout.replicas == 1) return;
  ServingPoint fewer = best;
  --fewer.plan.layout.replicas;
  CHECK_FALSE(study_serving(chat(overrides_of(fewer, *scenario.serving))).keeps_goals());
}

TEST_CASE("fewest GPUs: goals that one request alone misses are told", "[planner][serving]") {
  const ServingSearch search = fewest_gpus(chat({"serving.goals.tpot=0.1 ms"}));
  CHECK(search.points.empty());
  CHECK(!search.refused.empty());
}

TEST_CASE("latency against throughput: the front falls, and its points come again",
          "[planner][serving]") {
  const Scenario scenario = serving_scenario("gpt-oss-120b-1xh100");
  const ServingSearch search = serving_pareto(scenario);
  REQUIRE(search.points.size() > 5);
  CHECK(wrong_of("serving-search.schema.json", serving_search_json(scenario, search, "pareto"))
            .empty());
  check_narrow(answer_text(pareto_answer(scenario, search)));
  const ServingPoint* last = nullptr;
  for (const ServingPoint& point : search.points) {
    if (!point.on_front) continue;
    for (const ServingPoint& other : search.points)
      CHECK_FALSE((other.user_tokens_per_s() > point.user_tokens_per_s() &&
                   other.gpu_tokens_per_s() > point.gpu_tokens_per_s()));
    last = &point;
  }
  REQUIRE(last != nullptr);
  // Steady serving, not a run that fills and drains: four times as long says the same, but for what
  // lengths drawn at random scatter within six mean times.
  std::vector<std::string> longer = overrides_of(*last, *scenario.serving);
  longer.push_back(fmt::format("serving.duration={} s", 4.0 * last->plan.duration.value()));
  CHECK(
      study_serving(serving_scenario("gpt-oss-120b-1xh100", longer)).summary.output_tokens_per_s ==
      Approx(last->summary.output_tokens_per_s).epsilon(0.06));
  const ServingReport again = study_serving(
      serving_scenario("gpt-oss-120b-1xh100", overrides_of(*last, *scenario.serving)));
  CHECK(again.summary.output_tokens_per_s == last->summary.output_tokens_per_s);
}

TEST_CASE("what cannot run says why, and nothing is simulated", "[planner][serving]") {
  const ServingReport small =
      study_serving(chat({"serving.precision.weights=bf16", "serving.parallel.tensor=1"}));
  REQUIRE(!small.ready.reasons.empty());
  CHECK(small.ready.reasons.front().rule == "out-of-memory");
  CHECK(wrong_of("serving.schema.json", serving_json(small)).empty());
  const ServingReport many = study_serving(chat({"serving.replicas=100"}));
  REQUIRE(!many.ready.reasons.empty());
  CHECK(many.ready.reasons.front().rule == "ranks-fit-cluster");
  CHECK(!judge_serving_fit(chat({"serving.replicas=100"})).reasons.empty());
}

TEST_CASE("every scenario of post-training runs, and its result keeps the schema",
          "[planner][post-training]") {
  for (const auto& entry :
       std::filesystem::directory_iterator(source / "scenarios/post-training")) {
    CAPTURE(entry.path());
    LoadOptions options;
    options.purpose = Purpose::steps;
    const PostTrainingReport report = study_post_training(load_scenario(entry.path(), options));
    REQUIRE(report.forecast.reasons.empty());
    CHECK(report.cost);
    CHECK(wrong_of("post-training.schema.json", post_training_json(report)).empty());
    check_narrow(answer_text(post_training_answer(report)));
  }
}

}  // namespace foretrain
