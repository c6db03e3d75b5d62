// SPDX-License-Identifier: Apache-2.0
// Conversations and agents, routing to their caches, rates over a day, replicas that come and go.
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>

#include "tests/sim/serving_load.hpp"

namespace foretrain {
namespace {

using namespace serving_test;

/// Clients that each hold one conversation after the other.
ServingModel conversations(int clients, int sessions, int turns) {
  ServingModel model =
      deployment(closed(clients, sessions, 100, 50), linear_step(0.005, 1e-5, 1e-4));
  model.load.sessions.turns = turns;
  return model;
}

}  // namespace

TEST_CASE("a later turn computes what is new in its prompt", "[sim][serving]") {
  const ServingSample sample = simulate_serving(conversations(1, 1, 3));
  REQUIRE(sample.requests.size() == 3);
  CHECK(sample.submitted == 3);
  CHECK(sample.requests[1].prompt == 250);  // 100 + 50 + 100
  CHECK(sample.requests[2].prompt == 400);
  CHECK(sample.asked == 750.0);
  CHECK(sample.found == 450.0);  // 150 of the second, 300 of the third
  CHECK(sample.prefilled == 300.0);
}

TEST_CASE("caches of sessions give way to requests, and no request is lost", "[sim][serving]") {
  ServingModel roomy = conversations(40, 200, 5);
  roomy.load.sessions.wait = Seconds{1.0};
  ServingModel tight = roomy;
  tight.serve.blocks = 400;
  const ServingSample all = simulate_serving(roomy);
  const ServingSample some = simulate_serving(tight);
  REQUIRE(all.requests.size() == 1000);
  REQUIRE(some.requests.size() == 1000);
  CHECK(all.prefilled == Approx(all.asked - all.found));
  CHECK(some.found < 0.8 * all.found);
  CHECK(some.most_cache <= 1.0);
}

TEST_CASE("routing by prefix finds the turns that routing in turn misses", "[sim][serving]") {
  ServingModel model = conversations(16, 100, 4);
  model.serve.replicas = 4;
  model.routing = Routing::prefix;
  const ServingSample found = simulate_serving(model);
  model.routing = Routing::round_robin;
  const ServingSample missed = simulate_serving(model);
  CHECK(found.found / found.asked == Approx(450.0 * 2.0 / 1300.0).margin(0.05));
  CHECK(missed.found < 0.6 * found.found);
}

TEST_CASE("turns of a trace are asked after their wait", "[sim][serving]") {
  ServingModel model = deployment({}, constant_step(0.01));
  model.load.arrivals = ArrivalKind::trace;
  model.load.trace = {{Seconds{0.0}, 100, 10, 7, Seconds{}},
                      {Seconds{1.0}, 50, 10},
                      {Seconds{2.0}, 200, 10, 7, Seconds{5.0}}};
  const ServingSample sample = simulate_serving(model);
  REQUIRE(sample.requests.size() == 3);
  const ServedRequest& last = sample.requests.back();
  CHECK(last.prompt == 200);
  CHECK(last.submitted == Approx(sample.requests.front().ended + 5.0));
  CHECK(sample.found == 110.0);
}

TEST_CASE("a rate that swings is highest at noon, and the same over the day", "[sim][serving]") {
  ServingModel model = deployment(poisson(0.5, 16, 2), constant_step(0.01));
  model.load.swing = 0.8;
  model.duration = Seconds{86400.0};
  const ServingSample sample = simulate_serving(model);
  const auto noon =
      std::count_if(sample.requests.begin(), sample.requests.end(),
                    [](const auto& r) { return r.submitted > 21600.0 && r.submitted < 64800.0; });
  const double all = static_cast<double>(sample.requests.size());
  CHECK(all == Approx(43200.0).epsilon(0.02));
  // Half a day around noon: 1 + 0.8 x 2 / pi of the mean.
  CHECK(static_cast<double>(noon) / all == Approx(0.5 * (1.0 + 0.8 * 2.0 / 3.14159)).epsilon(0.02));
}

TEST_CASE("replicas follow the load within their limits", "[sim][serving]") {
  ServingModel model = deployment(poisson(10.0, 16, 10), constant_step(0.1));
  model.serve.replicas = 8;
  model.duration = Seconds{4000.0};
  model.autoscaling = {1, 4.0, Seconds{20.0}, Seconds{10.0}};
  const ServingSample sample = simulate_serving(model);
  // Ten requests run on average: two and a half times the target.
  CHECK(sample.mean_replicas > 2.2);
  CHECK(sample.mean_replicas < 4.5);
  CHECK(sample.most_replicas <= 8);
  model.autoscaling = {};
  CHECK(simulate_serving(model).mean_replicas == 8.0);
}

TEST_CASE("what is stopped tells of the time before", "[sim][serving]") {
  ServingModel model = deployment(poisson(10.0, 16, 10), constant_step(0.01));
  model.duration = Seconds{864000.0};
  const std::atomic<bool> stop{true};
  const ServingSample sample = simulate_serving(model, {60, &stop});
  CHECK(!sample.complete);
  CHECK(sample.counted_s < 1000.0);
}

}  // namespace foretrain
