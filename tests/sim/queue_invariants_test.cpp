// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <atomic>
#include <map>

#include "models/base/random.hpp"
#include "models/base/too_large.hpp"
#include "sim/queue/queue_run.hpp"
#include "sim/queue/queue_study.hpp"

namespace foretrain {
namespace {

/// A cluster with jobs of all sizes, near its capacity.
QueueModel random_model(int seed) {
  Random random{static_cast<std::uint64_t>(seed) * 7919 + 1};
  QueueModel model;
  model.hosts = 2 + static_cast<int>(random.below(30));
  model.seed = random.bits() % 1000;
  const int classes = 1 + static_cast<int>(random.below(3));
  for (int i = 0; i < classes; ++i) {
    QueueClass jobs;
    jobs.sizes = {{1, 2.0},
                  {1 + static_cast<int>(random.below(static_cast<std::size_t>(model.hosts))), 1.0}};
    jobs.duration = {DurationKind::exponential, Seconds{1000.0 * (1.0 + random.uniform() * 9.0)}};
    jobs.arrivals.rate = PerSecond{0.9 * model.hosts / classes /
                                   (jobs.duration.typical.value() * jobs.mean_hosts())};
    jobs.priority = static_cast<double>(random.below(3));
    jobs.preemptible = random.below(2) == 0;
    jobs.checkpoint_every = Seconds{300.0};
    jobs.restart = Seconds{20.0};
    model.classes.push_back(jobs);
  }
  model.horizon = 3.0 * days;
  const auto orders = queue_orders();
  model.policy.order = &orders[random.below(orders.size())];
  const auto kinds = backfills();
  model.policy.backfill = &kinds[random.below(kinds.size())];
  return model;
}

/// Most hosts in use at a time.
int most_in_use(const std::vector<ScheduledStretch>& schedule) {
  std::map<double, int> changes;
  for (const ScheduledStretch& stretch : schedule) {
    changes[stretch.start.value()] += stretch.hosts;
    changes[stretch.end.value()] -= stretch.hosts;
  }
  int used = 0;
  int most = 0;
  for (const auto& [time, change] : changes) most = std::max(most, used += change);
  return most;
}

}  // namespace

TEST_CASE("random clusters: no host is used twice, and every counted job ends", "[sim][queue]") {
  for (int seed = 0; seed < 60; ++seed) {
    QueueModel model = random_model(seed);
    model.policy.preempt = seed % 3 == 0;
    if (seed % 5 < 2) {
      model.classes[0].moldable = {{1, 1.0}, {2, 1.7}};
      model.classes[0].sizes = {{1, 1.0}};
      model.policy.molding = &molding_rules()[static_cast<std::size_t>(seed) % 3];
    }
    if (seed % 7 == 0) model.burst_after = Seconds{3000.0};
    if (seed % 4 == 0) model.failures = {Seconds{50000.0}, Seconds{5000.0}, seed % 2};
    CAPTURE(seed, model.policy.order->name, model.policy.backfill->name);
    const QueueSample sample = simulate_queue(model, {0, 10, true});
    CHECK(most_in_use(sample.schedule) <= model.hosts);
    std::int64_t ended = 0;
    std::int64_t unfinished = 0;
    for (const ClassSample& jobs : sample.classes) {
      CHECK(jobs.wait.size() == jobs.turnaround.size());
      CHECK(std::all_of(jobs.wait.begin(), jobs.wait.end(), [](float wait) { return wait >= 0; }));
      ended += static_cast<std::int64_t>(jobs.turnaround.size());
      unfinished += jobs.unfinished;
    }
    CHECK(unfinished == 0);
    CHECK(ended > 0);
    const HostSeconds& hosts = sample.hosts;
    CHECK(hosts.allocated == Approx(hosts.productive + hosts.lost + hosts.restart).epsilon(1e-9));
    CHECK(hosts.allocated + hosts.down <= model.hosts * model.horizon.value() * (1.0 + 1e-12));
  }
}

TEST_CASE("exact limits: under conservative backfill no job starts later than under FIFO",
          "[sim][queue]") {
  for (int seed = 0; seed < 40; ++seed) {
    QueueModel model = random_model(seed);
    model.policy.order = find_order("fifo");
    model.policy.depth = 1'000'000;
    const auto starts = [&](const char* backfill) {
      model.policy.backfill = find_backfill(backfill);
      std::map<std::int64_t, double> result;
      for (const ScheduledStretch& stretch : simulate_queue(model, {0, 10, true}).schedule)
        result[stretch.job] = stretch.start.value();
      return result;
    };
    const auto fifo = starts("none");
    for (const auto& [job, start] : starts("conservative")) {
      const auto same = fifo.find(job);
      if (same == fifo.end()) continue;  // after the last counted job had ended
      CAPTURE(seed, job);
      CHECK(start <= same->second + 1e-6);
    }
  }
}

TEST_CASE("backfill never leaves more waiting on average than strict order", "[sim][queue]") {
  double strict = 0.0;
  double easy = 0.0;
  for (int seed = 0; seed < 40; ++seed) {
    QueueModel model = random_model(seed);
    model.policy.order = find_order("fifo");
    model.policy.backfill = find_backfill("none");
    strict += simulate_queue(model, {}).waiting_job_s;
    model.policy.backfill = find_backfill("easy");
    easy += simulate_queue(model, {}).waiting_job_s;
  }
  CHECK(easy < strict);
}

TEST_CASE("the confidence interval of a share stays between nothing and all", "[sim][queue]") {
  for (int seed = 0; seed < 20; ++seed) {
    QueueModel model = random_model(seed);
    model.horizon = 0.2 * days;
    QueueStudyOptions options;
    options.replications = 2;
    options.threads = 1;
    const QueueSummary summary = *study_queue(model, options);
    for (const QueueEstimate& share : {summary.allocated, summary.productive}) {
      CAPTURE(seed, share.value);
      CHECK(share.low.value() >= 0.0);
      CHECK(share.high.value() <= 1.0);
    }
  }
}

TEST_CASE("a queue that is stopped from outside is not complete", "[sim][queue]") {
  QueueModel model = random_model(1);
  model.horizon = 3000.0 * days;
  const std::atomic<bool> stop{true};
  CHECK(!simulate_queue(model, {0, 10, false, &stop}).complete);
}

TEST_CASE("a queue that outgrows memory is refused", "[sim][queue]") {
  QueueModel model = random_model(1);
  model.classes.resize(1);
  model.classes[0].arrivals.rate = PerSecond{100.0};
  model.horizon = 300.0 * days;
  CHECK_THROWS_AS(simulate_queue(model, {}), TooLarge);
}

TEST_CASE("jobs that no gap between maintenance holds are counted as unfinished", "[sim][queue]") {
  QueueModel model;
  QueueClass jobs;
  jobs.duration = {DurationKind::fixed, Seconds{200.0}};
  jobs.arrivals.listed = {{Seconds{1.0}, {}, {}, {}}, {Seconds{2.0}, Seconds{20.0}, {}, {}}};
  model.classes = {jobs};
  model.horizon = Seconds{1000.0};
  model.blocks = {{Seconds{50.0}, Seconds{10.0}, Seconds{100.0}, 1, {}}};
  model.policy.backfill = find_backfill("easy");
  const QueueSample sample = simulate_queue(model, {});
  CHECK(sample.classes[0].unfinished == 1);
  CHECK(sample.classes[0].turnaround.size() == 1);
}

}  // namespace foretrain
