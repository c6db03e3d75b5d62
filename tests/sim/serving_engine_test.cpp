// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <atomic>

#include "models/base/too_large.hpp"
#include "tests/sim/serving_load.hpp"

namespace foretrain {
namespace {

using namespace serving_test;

double total_output(const ServingSample& sample) {
  double tokens = 0.0;
  for (const ServedRequest& request : sample.requests) tokens += request.output;
  return tokens;
}

}  // namespace

TEST_CASE("tokens are conserved, preempted or not", "[sim][serving][property]") {
  const bool chunked = GENERATE(true, false);
  const int blocks = GENERATE(150, 400, 100'000);
  const double per_step = GENERATE(1.0, 2.3);
  ServingModel model = deployment(closed(40, 400, 300, 200), linear_step(0.005, 1e-5, 1e-4));
  model.load.prompt.jitter = 0.9;
  model.load.output.jitter = 0.9;
  model.serve.blocks = blocks;
  model.serve.tokens_per_step = per_step;
  model.serve.scheduler.chunked_prefill = chunked;
  model.serve.scheduler.token_budget = 512;
  model.serve.scheduler.sequences = 128;
  CAPTURE(chunked, blocks, per_step);
  const ServingSample sample = simulate_serving(model);
  REQUIRE(sample.complete);
  CHECK(sample.requests.size() == 400);
  CHECK(sample.rejected == 0);
  CHECK(sample.all_output_tokens == Approx(total_output(sample)));
  CHECK((sample.preemptions > 0) == (blocks < 100'000));
  CHECK(sample.most_cache <= 1.0);
  double prompts = 0.0;
  for (const ServedRequest& request : sample.requests) prompts += request.prompt;
  if (sample.preemptions == 0) {
    CHECK(sample.prefilled == Approx(prompts));
  } else {
    CHECK(sample.prefilled > prompts);
  }
  for (const ServedRequest& request : sample.requests) {
    CHECK(request.submitted <= request.started);
    CHECK(request.started < request.first_token);
    CHECK(request.first_token <= request.ended);
  }
}

TEST_CASE("where whole answers are reserved, none gives way and fewer run", "[sim][serving]") {
  ServingModel model = deployment(closed(40, 400, 320, 160), linear_step(0.005, 1e-5, 1e-4));
  model.serve.blocks = 20 * 10;  // of 16 tokens: 20 prompts, or 6 requests with their answers
  model.serve.tokens_per_step = GENERATE(1.0, 2.3);
  const ServingSample grown = simulate_serving(model);
  model.serve.scheduler.reserves_output = true;
  const ServingSample reserved = simulate_serving(model);
  REQUIRE(reserved.complete);
  CHECK(grown.preemptions > 0);
  CHECK(reserved.preemptions == 0);
  CHECK(reserved.requests.size() == 400);
  CHECK(reserved.prefilled == Approx(400.0 * 320.0));
  CHECK(reserved.all_output_tokens == Approx(total_output(reserved)));
  CHECK(reserved.most_cache == Approx(180.0 / 200.0));
  const ServingSummary seen = summary_of(reserved, {});
  CHECK(seen.tpot.mean < summary_of(grown, {}).tpot.mean);
}

TEST_CASE("every gap between tokens is seen once", "[sim][serving]") {
  ServingModel model = deployment(closed(16, 160, 50, 40), linear_step(0.005, 1e-5, 1e-4));
  model.serve.blocks = GENERATE(60, 10'000);
  model.load.output.jitter = 0.5;
  const ServingSample sample = simulate_serving(model);
  double gaps = 0.0;
  double time = 0.0;
  for (const ServedRequest& request : sample.requests) {
    gaps += request.output - 1;
    time += request.ended - request.first_token;
  }
  CHECK(sample.gaps.count() == Approx(gaps));
  CHECK(sample.gaps.count() * sample.gaps.mean() == Approx(time));
}

TEST_CASE("a prompt longer than the budget comes in chunks beside decoding", "[sim][serving]") {
  RequestLoad load;
  load.arrivals = ArrivalKind::trace;
  load.trace = {{Seconds{0.0}, 10, 100}, {Seconds{0.05}, 1000, 2}};
  ServingModel model = deployment(load, constant_step(0.01));
  model.serve.scheduler.token_budget = 256;
  model.serve.scheduler.chunked_prefill = GENERATE(true, false);
  const ServingSample sample = simulate_serving(model);
  REQUIRE(sample.requests.size() == 2);
  const ServedRequest& late = sample.requests.front();
  CHECK(late.prompt == 1000);
  // One token of the budget is the first request's: 255 + 255 + 255 + 235.
  CHECK(late.first_token == Approx(model.serve.scheduler.chunked_prefill ? 0.09 : 0.06));
}

TEST_CASE("a prefix that all have in common is computed by none and kept once", "[sim][serving]") {
  ServingModel model = deployment(closed(8, 80, 100, 10), constant_step(0.01));
  model.load.shared_prefix = 1600;
  model.serve.blocks = 100 + 8 * 7;
  const ServingSample sample = simulate_serving(model);
  CHECK(sample.prefilled == Approx(80 * 100));
  CHECK(sample.rejected == 0);
  CHECK(sample.mean_running == Approx(8.0).epsilon(0.2));
  model.load.prefix_reuse = 0.5;
  CHECK(simulate_serving(model).prefilled == Approx(80 * 50));
}

TEST_CASE("requests that never fit are refused, and the others served", "[sim][serving]") {
  ServingModel model = deployment(closed(4, 100, 100, 10), constant_step(0.01));
  model.load.prompt.variation = 2.0;
  model.serve.blocks = 20;
  const ServingSample sample = simulate_serving(model);
  CHECK(sample.rejected > 0);
  CHECK(sample.rejected + static_cast<std::int64_t>(sample.requests.size()) == 100);
}

TEST_CASE("disaggregated: the cache moves once, and tokens behind the first wait for it",
          "[sim][serving]") {
  ServingModel model = deployment(closed(1, 10, 1000, 11), constant_step(0.1));
  model.decode = model.serve;
  model.decode->timer = constant_step(0.02);
  model.transfer = {Bytes{1e6}, BytesPerSecond{1e10}, Seconds{0.01}};
  const ServingSample sample = simulate_serving(model);
  REQUIRE(sample.requests.size() == 10);
  CHECK(sample.transferred == Approx(10 * 1e9));
  for (const ServedRequest& request : sample.requests) {
    CHECK(request.first_token - request.submitted == Approx(0.1));
    CHECK(request.ended - request.first_token == Approx(0.01 + 0.1 + 10 * 0.02));
  }
}

TEST_CASE("disaggregated: tokens are conserved with few blocks on both sides",
          "[sim][serving][property]") {
  ServingModel model = deployment(poisson(20, 300, 100), linear_step(0.005, 1e-5, 1e-4));
  model.load.requests = 500;
  model.load.prompt.jitter = 0.9;
  model.load.output.jitter = 0.9;
  model.serve.replicas = 2;
  model.serve.blocks = 120;
  model.decode = model.serve;
  model.decode->blocks = GENERATE(80, 400);
  model.decode->replicas = 3;
  model.decode->scheduler.reserves_output = GENERATE(false, true);
  model.transfer = {Bytes{1e5}, BytesPerSecond{1e10}, Seconds{0.001}};
  model.routing = GENERATE(Routing::round_robin, Routing::least_load);
  const ServingSample sample = simulate_serving(model);
  CHECK(sample.complete);
  CHECK(sample.requests.size() == 500);
  CHECK(sample.all_output_tokens == Approx(total_output(sample)));
}

TEST_CASE("the same model gives the same sample; another seed another one", "[sim][serving]") {
  ServingModel model = deployment(poisson(30, 500, 100), linear_step(0.005, 1e-5, 1e-4));
  model.duration = Seconds{100.0};
  const auto ends = [](const ServingModel& asked) {
    std::vector<double> times;
    for (const ServedRequest& request : simulate_serving(asked).requests)
      times.push_back(request.ended);
    return times;
  };
  const std::vector<double> first = ends(model);
  CHECK(first == ends(model));
  model.seed = 2;
  CHECK(first != ends(model));
}

TEST_CASE("more than is served: the queue grows and the summary says so", "[sim][serving]") {
  ServingModel model = deployment(poisson(30, 500, 100), linear_step(0.005, 1e-4, 1e-4));
  model.duration = Seconds{100.0};
  CHECK(summary_of(simulate_serving(model), {}).overloaded);
}

TEST_CASE("what is answered is what the tokens are of, not what came", "[sim][serving]") {
  const double rate = GENERATE(5.0, 12.0, 30.0, 120.0);
  const double warm_up = GENERATE(0.0, 20.0);
  ServingModel model = deployment(poisson(rate, 500, 100), linear_step(0.005, 1e-4, 1e-4));
  model.duration = Seconds{200.0};
  model.warm_up = Seconds{warm_up};
  const ServingSample sample = simulate_serving(model);
  const ServingSummary seen = summary_of(sample, {Seconds{1.0}, {}});
  CAPTURE(rate, warm_up);
  // Answers that lie half outside of the counted time.
  const double edge = 2.0 * 256.0 / sample.counted_s;
  CHECK(seen.output_tokens_per_s == Approx(100.0 * seen.requests_per_s).margin(100.0 * edge));
  CHECK(seen.prompt_tokens_per_s == Approx(500.0 * seen.requests_per_s));
  CHECK(seen.submitted_per_s == Approx(rate).epsilon(0.1));
  CHECK(seen.requests_per_s <= seen.submitted_per_s + edge);
  CHECK(seen.goodput_per_s <= seen.requests_per_s);
  CHECK(seen.overloaded == (rate >= 30.0));
  if (seen.overloaded) {
    CHECK(seen.requests_per_s < 0.6 * seen.submitted_per_s);
  }
}

TEST_CASE("what is too large is refused before it takes long", "[sim][serving]") {
  int priced = 0;
  const StepTimer timer = [&priced](const ServingBatch&) {
    ++priced;
    return Seconds{0.01};
  };
  ServingModel model = deployment(poisson(100.0, 500, 100), timer);
  model.duration = Seconds{1e18};
  CHECK_THROWS_AS(simulate_serving(model), TooLarge);
  CHECK(priced == 0);
  // Two million wait.
  model.load.rate = 1e6;
  model.duration = Seconds{15.0};
  CHECK_THROWS_AS(simulate_serving(model), TooLarge);
  CHECK(priced < 1000);
  // Few requests a second, and steps without end.
  model = deployment(closed(1, 0, 10, 1e6), timer);
  model.duration = Seconds{1e9};
  CHECK_THROWS_AS(simulate_serving(model), TooLarge);
  CHECK(priced < 3'000'000);
}

TEST_CASE("a number of requests ends what is counted, also before the duration", "[sim][serving]") {
  ServingModel model = deployment(closed(4, 40, 10, 100), constant_step(0.01));
  model.duration = Seconds{1000.0};
  const ServingSample sample = simulate_serving(model);
  CHECK(sample.counted_s == sample.last_answer_s);
  CHECK(summary_of(sample, {}).output_tokens_per_s == Approx(4 / 0.01));
}

TEST_CASE("limits count requests, and only such", "[sim][serving]") {
  ServingModel model = deployment(closed(2, 20, 100, 10), constant_step(0.01));
  const ServingSample sample = simulate_serving(model);
  CHECK(summary_of(sample, {Seconds{0.011}, Seconds{0.011}}).within_limits == 1.0);
  CHECK(summary_of(sample, {Seconds{0.009}, {}}).goodput_per_s == 0.0);
  CHECK(summary_of(sample, {{}, Seconds{0.009}}).goodput_per_s == 0.0);
}

TEST_CASE("a stop from outside ends a run early", "[sim][serving]") {
  ServingModel model = deployment(poisson(30, 500, 100), linear_step(0.005, 1e-5, 1e-4));
  model.duration = Seconds{1000.0};
  const std::atomic<bool> stop{true};
  CHECK_FALSE(simulate_serving(model, {60, &stop}).complete);
}

TEST_CASE("an hour with 100,000 requests", "[sim][serving][slow]") {
  ServingModel model =
      deployment(poisson(100'000 / 3600.0, 1024, 256), linear_step(0.012, 2e-5, 5e-5));
  model.load.output.jitter = 0.5;
  model.serve.replicas = 4;
  model.duration = Seconds{3600.0};
  const ServingSample sample = simulate_serving(model);
  CHECK(sample.complete);
  CHECK(sample.requests.size() == Approx(100'000).epsilon(0.02));
}

}  // namespace foretrain
