// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>

#include "tests/sim/serving_load.hpp"

namespace foretrain {
namespace {

using namespace serving_test;

/// One request at a time with one step each, of exponential time: an M/M/1 queue.
ServingModel single_server(double rate, StepTimer timer) {
  ServingModel model = deployment(poisson(rate, 1, 1), std::move(timer));
  model.serve.scheduler.sequences = 1;
  model.duration = Seconds{1'000'000.0};
  model.warm_up = Seconds{2'000.0};
  return model;
}

}  // namespace

TEST_CASE("one seat and fixed steps: the wait of an M/D/1 queue", "[sim][serving]") {
  const double load = GENERATE(0.3, 0.6, 0.8);
  const ServingModel model = single_server(load, constant_step(1.0));
  const ServingSummary seen = summary_of(simulate_serving(model), {});
  // Pollaczek and Khinchine: rho / (2 (1 - rho)) services.
  CHECK(seen.queue.mean == Approx(load / (2.0 * (1.0 - load))).epsilon(0.03));
  CHECK(seen.ttft.mean == Approx(seen.queue.mean + 1.0).epsilon(1e-3));
  CHECK_FALSE(seen.overloaded);
}

TEST_CASE("one seat and exponential answers: close to the wait of an M/M/1 queue",
          "[sim][serving]") {
  // Log-normal lengths of as much spread as the exponential law: Pollaczek and Khinchine look at
  // two moments alone.
  ServingModel model = single_server(0.6 / 100.0, constant_step(1.0));
  model.load.output = {100.0, 0.0, 1.0, 0};
  model.duration = Seconds{20'000'000.0};
  const ServingSummary seen = summary_of(simulate_serving(model), {});
  CHECK(seen.queue.mean == Approx(0.6 / 0.4 * 100.0).epsilon(0.05));
}

TEST_CASE("Little's law: requests in the system are their rate times their time",
          "[sim][serving]") {
  ServingModel model = deployment(poisson(20.0, 500, 100), linear_step(5e-3, 1e-5, 1e-5));
  model.load.prompt.jitter = 0.5;
  model.load.output.variation = 0.7;
  model.serve.replicas = GENERATE(1, 3);
  model.duration = Seconds{3000.0};
  model.warm_up = Seconds{100.0};
  const ServingSample sample = simulate_serving(model);
  const ServingSummary seen = summary_of(sample, {});
  CHECK(sample.mean_waiting + sample.mean_running ==
        Approx(seen.requests_per_s * seen.whole.mean).epsilon(0.02));
  CHECK(seen.requests_per_s == Approx(20.0).epsilon(0.02));
}

TEST_CASE("closed loop: throughput and times of a loop without prompts", "[sim][serving]") {
  // Steps of 10 ms, one token each, prompts beside them: 200 steps per request and client.
  const int clients = GENERATE(1, 8, 64);
  const ServingModel model =
      deployment(closed(clients, clients * 20, 16, 200), constant_step(0.01));
  const ServingSample sample = simulate_serving(model);
  const ServingSummary seen = summary_of(sample, {});
  CHECK(seen.tpot.mean == Approx(0.01));
  CHECK(seen.ttft.mean == Approx(0.01));
  CHECK(seen.output_tokens_per_s == Approx(clients / 0.01).epsilon(1e-6));
  CHECK(sample.steps == 4000);  // 20 requests of each client, 200 tokens each
}

TEST_CASE("closed loop: a step that grows with its sequences", "[sim][serving]") {
  const int clients = 32;
  const ServingModel model =
      deployment(closed(clients, 640, 1, 100), linear_step(0.005, 0.0, 1e-4));
  const ServingSummary seen = summary_of(simulate_serving(model), {});
  CHECK(seen.tpot.mean == Approx(0.005 + clients * 1e-4).epsilon(0.03));
}

TEST_CASE("speculation: an answer takes as many steps fewer as a step yields tokens",
          "[sim][serving]") {
  ServingModel model = deployment(closed(4, 40, 10, 201), constant_step(0.02));
  model.serve.tokens_per_step = 2.5;
  model.serve.step_width = 4;
  const ServingSample sample = simulate_serving(model);
  CHECK(summary_of(sample, {}).tpot.mean == Approx(0.02 / 2.5));
  CHECK(sample.all_output_tokens == Approx(40 * 201));
}

TEST_CASE("more load never shortens waits, more replicas never lengthen them",
          "[sim][serving][property]") {
  double last = 0.0;
  for (const double rate : {2.0, 6.0, 10.0, 14.0}) {
    ServingModel model = deployment(poisson(rate, 1000, 100), linear_step(0.01, 5e-5, 1e-4));
    model.duration = Seconds{1000.0};
    const double alone = summary_of(simulate_serving(model), {}).whole.mean;
    CHECK(alone >= last);
    last = alone;
    model.serve.replicas = 2;
    CHECK(summary_of(simulate_serving(model), {}).whole.mean <= alone);
  }
}

}  // namespace foretrain
