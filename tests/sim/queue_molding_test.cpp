// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/queue/queue_run.hpp"

namespace foretrain {
namespace {

/// Runs 60 s on 2 hosts, 30 s on 4, 20 s on 8.
QueueClass moldable_at(const std::vector<double>& submits) {
  QueueClass jobs;
  jobs.duration = {DurationKind::fixed, Seconds{60.0}};
  jobs.moldable = {{2, 1.0}, {4, 2.0}, {8, 3.0}};
  jobs.sizes = {{2, 1.0}};
  for (const double submit : submits) jobs.arrivals.listed.push_back({Seconds{submit}, {}, {}, {}});
  return jobs;
}

QueueClass rigid_at(double submit, double duration, int hosts) {
  QueueClass jobs;
  jobs.arrivals.listed = {{Seconds{submit}, Seconds{duration}, Seconds{duration}, hosts}};
  return jobs;
}

QueueModel cluster_of_eight(std::vector<QueueClass> classes, const char* molding = "widest") {
  QueueModel model;
  model.hosts = 8;
  model.classes = std::move(classes);
  model.horizon = Seconds{1000.0};
  model.policy.molding = find_molding(molding);
  return model;
}

struct Stretch {
  double start;
  double end;
  int hosts;

  bool operator==(const Stretch&) const = default;
};

/// By order of submission.
std::vector<Stretch> schedule_of(const QueueModel& model) {
  auto schedule = simulate_queue(model, {0, 10, true}).schedule;
  std::sort(schedule.begin(), schedule.end(),
            [](const auto& a, const auto& b) { return a.job < b.job; });
  std::vector<Stretch> stretches;
  for (const ScheduledStretch& each : schedule)
    stretches.push_back({each.start.value(), each.end.value(), each.hosts});
  return stretches;
}

using Placed = std::vector<Stretch>;

}  // namespace

TEST_CASE("moldable jobs: widest takes all that is free", "[sim][queue]") {
  // B and C wait for A; then B takes all 8 again, and C after it.
  CHECK(schedule_of(cluster_of_eight({moldable_at({0, 5, 6})})) ==
        Placed{{0, 20, 8}, {20, 40, 8}, {40, 60, 8}});
}

TEST_CASE("moldable jobs: narrowest takes the fewest, share divides what is free", "[sim][queue]") {
  CHECK(schedule_of(cluster_of_eight({moldable_at({0, 5, 6})}, "narrowest")) ==
        Placed{{0, 60, 2}, {5, 65, 2}, {6, 66, 2}});
  // At 20 two wait for 8 hosts: 4 each.
  CHECK(schedule_of(cluster_of_eight({moldable_at({0, 5, 6})}, "share")) ==
        Placed{{0, 20, 8}, {20, 50, 4}, {20, 50, 4}});
  CHECK(find_molding("wide") == nullptr);
}

TEST_CASE("moldable jobs: a smaller size starts where a larger one has no hosts or no time",
          "[sim][queue]") {
  // 5 hosts are taken until 100: 3 are free, so 2 and not 4.
  CHECK(schedule_of(cluster_of_eight({rigid_at(0, 100, 5), moldable_at({1})})) ==
        Placed{{0, 100, 5}, {1, 61, 2}});
  // EASY: R2 has all 8 hosts from 40 on. On 4 hosts the job ends at 32, on 2 at 62: too late.
  QueueModel model = cluster_of_eight({rigid_at(0, 40, 4), rigid_at(1, 10, 8), moldable_at({2})});
  model.policy.backfill = find_backfill("easy");
  CHECK(schedule_of(model) == Placed{{0, 40, 4}, {40, 50, 8}, {2, 32, 4}});
  // Where even that is too late, it waits.
  model.classes[0] = rigid_at(0, 30, 4);
  CHECK(schedule_of(model) == Placed{{0, 30, 4}, {30, 40, 8}, {40, 60, 8}});
}

TEST_CASE("moldable jobs: quotas bound their size", "[sim][queue]") {
  QueueModel model = cluster_of_eight({moldable_at({0, 1})});
  model.teams = {{"a", 1.0, 6}};
  CHECK(schedule_of(model) == Placed{{0, 30, 4}, {1, 61, 2}});
}

TEST_CASE("moldable jobs keep their size through interruptions, and are counted by size",
          "[sim][queue]") {
  QueueClass low = moldable_at({0});
  low.preemptible = true;
  low.checkpoint_every = Seconds{5.0};
  QueueClass high = rigid_at(12, 10, 4);
  high.priority = 1.0;
  QueueModel model = cluster_of_eight({low, high});
  model.policy.preempt = true;
  // 10 of 20 s are safe at 12; 4 hosts are free then, but the job has 8.
  const QueueSample sample = simulate_queue(model, {0, 10, true});
  REQUIRE(sample.schedule.size() == 3);
  CHECK(sample.schedule.back().start.value() == 22.0);
  CHECK(sample.schedule.back().end.value() == 32.0);
  CHECK(sample.schedule.back().hosts == 8);
  CHECK(sample.classes[0].sizes == std::vector<std::int64_t>{0, 0, 1});
  CHECK(sample.hosts.productive == 8 * 20.0 + 4 * 10.0);
}

TEST_CASE("the load of moldable jobs is that of the size that takes least", "[sim][queue]") {
  QueueClass jobs = moldable_at({});
  jobs.arrivals.rate = PerSecond{1.0 / 120.0};
  jobs.moldable = {{2, 1.0}, {4, 3.0}, {8, 4.0}};  // 120, 80 and 120 host-seconds
  CHECK(offered_load(cluster_of_eight({jobs})) == Approx(80.0 / 120.0 / 8.0));
}

TEST_CASE("bursting: a job that has waited long enough runs on rented hosts", "[sim][queue]") {
  QueueClass stays = rigid_at(15, 10, 8);
  stays.bursts = false;
  QueueModel model = cluster_of_eight({rigid_at(0, 100, 8), rigid_at(10, 20, 3), stays});
  model.burst_after = Seconds{30.0};
  const QueueSample sample = simulate_queue(model, {0, 10, true});
  CHECK(sample.classes[1].wait == std::vector<float>{30.0F});
  CHECK(sample.classes[1].turnaround == std::vector<float>{50.0F});
  CHECK(sample.classes[1].rented == 1);
  CHECK(sample.classes[2].wait == std::vector<float>{85.0F});
  CHECK(sample.hosts.rented == 3 * 20.0);
  CHECK(sample.hosts.allocated == 8 * 110.0);
  CHECK(sample.waiting_job_s == 30.0 + 85.0);
}

TEST_CASE("bursting: the share of jobs that leave is that of M/M/c with a fixed patience",
          "[sim][queue]") {
  const int servers = 4;
  const double mean = 7200.0;
  const double patience = 3600.0;
  QueueModel model;
  model.hosts = servers;
  model.horizon = 1500.0 * days;
  model.burst_after = Seconds{patience};
  QueueClass jobs;
  jobs.duration = {DurationKind::exponential, Seconds{mean}};
  const double rate = GENERATE(0.5, 0.9, 1.5) * servers / mean;
  jobs.arrivals.rate = PerSecond{rate};
  model.classes = {jobs};
  CHECK(has_steady_state(model));
  const ClassSample sample = simulate_queue(model, {}).classes[0];
  CHECK(*std::max_element(sample.wait.begin(), sample.wait.end()) <= 3600.5F);
  // Baccelli and Hebuterne, On queues with impatient customers, 1981: the virtual wait has the
  // density rate p(c-1) exp((rate - c / mean) x) up to the patience, then falls as exp(-c x /
  // mean).
  double idle = 1.0;  // p(k) over p(0), added up below c
  double last = 1.0;  // p(c-1) over p(0)
  for (int k = 1; k < servers; ++k) idle += last *= rate * mean / k;
  const double serve = servers / mean;
  const double at_patience = std::exp((rate - serve) * patience);
  const double before = rate * last * (at_patience - 1.0) / (rate - serve);
  const double leave = rate * last * at_patience / serve;
  const double share = leave / (idle + before + leave);
  const auto count = static_cast<double>(sample.wait.size());
  CAPTURE(rate * mean / servers, share, count);
  CHECK(static_cast<double>(sample.rented) / count == Approx(share).epsilon(0.08));
}

}  // namespace foretrain
