// SPDX-License-Identifier: Apache-2.0
#include "models/data/data_parallel.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/step/graph_build.hpp"
#include "models/step/path.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/step_time.hpp"
#include "tests/models/example_job.hpp"
#include "tests/models/random_plans.hpp"

using namespace foretrain;

namespace {

/// Every bucket by itself: when it is full, as a share of the pass, and its share of the traffic.
struct OneBucket {
  double full;
  double share;
};

std::vector<OneBucket> one_by_one(const Buckets& buckets) {
  std::vector<OneBucket> all;
  for (int i = 1; i <= buckets.inners; ++i) all.push_back({i * buckets.first, buckets.inner});
  all.push_back({1.0, buckets.edge});
  return all;
}

/// Numbers between 0 and 1, the same on every machine.
class Shares {
 public:
  double next() { return static_cast<double>(engine_() >> 11) * 0x1p-53; }

 private:
  std::mt19937_64 engine_{7};
};

struct Drawn {
  Buckets buckets;
  Seconds time;
  Seconds duration;
};

Drawn draw(Shares& shares) {
  const double embedding = shares.next() < 0.5 ? 0.0 : 0.5 * shares.next();
  return {cut_buckets(1.0, std::pow(10.0, -3.0 * shares.next()), embedding),
          Seconds{3.0 * shares.next()}, Seconds{shares.next()}};
}

StepCosts step_table(const Job& job) {
  return step_costs(job, stage_layout(job.model, job.parallel));
}

/// What gradients and weights add to a step.
double exposed(const Job& job) {
  const StepCosts costs = step_table(job);
  StepCosts less = costs;
  less.traffic.clear();
  return (step_seconds(costs) - step_seconds(less)).value();
}

Job interleaved(int chunks) {
  Job job = test::llama2_70b_job();
  job.parallel.schedule = chunks > 1 ? ScheduleKind::interleaved : ScheduleKind::one_f_one_b;
  job.parallel.virtual_stages = chunks;
  job.communication.overlap.gradients = job.communication.overlap.parameters = true;
  job.stack.times.data_slowdown = 0.0;
  return job;
}

}  // namespace

TEST_CASE("buckets: shares add up, and the edge holds what is made last", "[models][data]") {
  const Buckets whole = cut_buckets(1e6, 2e6, 0.0);
  CHECK(whole.inners == 0);
  CHECK(whole.edge == 1.0);
  const Buckets even = cut_buckets(10e6, 1e6, 0.0);
  CHECK(even.inners == 9);
  CHECK(even.edge == Approx(0.1));
  CHECK(even.edge + even.inners * even.inner == Approx(1.0));
  CHECK(even.first == Approx(0.1));
  CHECK(even.last == Approx(0.9));
  // An embedding of half the parameters: its gradient is made last, the rest all through the pass.
  const Buckets embedding = cut_buckets(10e6, 1e6, 5e6);
  CHECK(embedding.edge == Approx(0.5));
  CHECK(embedding.inners == 5);
  CHECK(embedding.first == Approx(0.2));
  CHECK(embedding.last == Approx(1.0));
}

TEST_CASE("buckets: two of them decide when all gradients are reduced",
          "[models][data][property]") {
  Shares shares;
  for (int n = 0; n < 1000; ++n) {
    const Drawn one = draw(shares);
    const Seconds begin{shares.next()};
    const Seconds free{2.0 * shares.next()};
    Seconds stream = free;
    for (const OneBucket& bucket : one_by_one(one.buckets))
      stream = max(stream, begin + bucket.full * one.duration) + bucket.share * one.time;
    const Seconds end = begin + one.duration;
    CHECK(reduced_at(one.buckets, one.time, {begin, end}, end, free).value() ==
          Approx(stream.value()).epsilon(1e-9));
  }
}

TEST_CASE("buckets: two of them decide when a pass has had all its weights",
          "[models][data][property]") {
  Shares shares;
  for (int n = 0; n < 1000; ++n) {
    const Drawn one = draw(shares);
    const Seconds ready{shares.next()};
    const Seconds from{shares.next()};
    auto buckets = one_by_one(one.buckets);
    std::reverse(buckets.begin(), buckets.end());
    Seconds stream = from;
    Seconds clock = ready;
    double done = 0.0;
    for (const OneBucket& bucket : buckets) {
      stream += bucket.share * one.time;
      const double needed = 1.0 - bucket.full;
      clock = max(clock + (needed - done) * one.duration, stream);
      done = needed;
    }
    clock += (1.0 - done) * one.duration;
    CHECK(gathered_pass(one.buckets, one.time, from, ready, one.duration).end.value() ==
          Approx(clock.value()).epsilon(1e-9));
  }
}

TEST_CASE("overlap: chunks of an interleaved schedule hide more than one backward pass",
          "[models][data][path]") {
  // Gradients of the last chunk leave while those before it still run backward.
  Job job = interleaved(1);
  job.cluster.network.nic_link.bandwidth = 100.0 * Gbps;  // too slow for one pass
  Job chunks = job;
  chunks.parallel.schedule = ScheduleKind::interleaved;
  chunks.parallel.virtual_stages = 5;
  REQUIRE(exposed(job) > 0.0);
  CHECK(exposed(chunks) < 0.5 * exposed(job));
}

TEST_CASE("overlap: what no pass covers is the last chunk's edge", "[models][data]") {
  // On a fast network with one stage all but the bucket of the embedding hides.
  Job job = interleaved(1);
  job.cluster.network.nic_link.bandwidth = 3200.0 * Gbps;
  job.cluster.host.gpu_link.bandwidth = 3600.0 * GBps;
  const StepCosts costs = step_table(job);
  const ChunkTraffic first = costs.traffic.front();
  REQUIRE(first.buckets.inners > 0);
  const double slack = (first.buckets.edge * (first.gradients + first.weights)).value();
  CHECK(exposed(job) == Approx(slack).epsilon(0.5));
  CHECK(exposed(job) < 0.1 * (costs.gradients_of(0) + costs.weights_of(0)).value());
}

TEST_CASE("overlap: only passes beside gathers lose to them, and stages do not add that up",
          "[models][data][path]") {
  CHECK(beside_gathers(Seconds{2.0}, Seconds{3.0}, Seconds{5.0}) == Seconds{2.0});
  CHECK(beside_gathers(Seconds{2.0}, Seconds{6.0}, Seconds{5.0}) == Seconds{1.0});
  CHECK(beside_gathers(Seconds{2.0}, Seconds{9.0}, Seconds{5.0}) == Seconds{});

  Job job = interleaved(5);
  job.cluster.network.nic_link.bandwidth = 100.0 * Gbps;
  job.communication.overlap.gradients = false;
  const StepCosts free = step_table(job);
  job.stack.times.data_slowdown = 0.05;
  const StepCosts slowed = step_table(job);
  Seconds longest;
  for (int stage = 0; stage < slowed.shape.stages; ++stage)
    longest = max(longest, slowed.weights_of(stage));
  REQUIRE(slowed.shape.stages > 2);
  const Seconds lost = step_seconds(slowed) - step_seconds(free);
  CHECK(lost > Seconds{});
  CHECK(lost <= 0.05 * longest * ((1.0 + slowed.jitter) * slowed.release * 1.001));
}

TEST_CASE("overlap: closed form and path hide the same on 2,000 random plans",
          "[models][path][property]") {
  test::RandomPlans plans{20261123};
  std::vector<double> errors;
  while (errors.size() < 2000) {
    Job job = plans.next();
    job.communication.overlap.gradients = true;
    job.communication.overlap.parameters = true;
    if (job.parallel.data == 1) continue;
    const StepCosts costs = step_table(job);
    const Seconds path = longest_path(build_graph(costs, step_schedule(costs))).makespan *
                         (1.0 + costs.jitter) * costs.release;
    errors.push_back(std::abs(step_seconds(costs) / path - 1.0));
  }
  std::sort(errors.begin(), errors.end());
  CHECK(errors[1000] < 0.001);
  CHECK(errors[1980] < 0.01);
  CHECK(errors.back() < 0.03);
}
