// SPDX-License-Identifier: Apache-2.0
// Backfill as its papers say it, without any of the engine's shortcuts: whenever something
// happened, everything is worked out anew from what runs and what waits.
#include <catch2/catch.hpp>

#include <algorithm>
#include <limits>
#include <vector>

#include "models/base/random.hpp"
#include "sim/queue/queue_run.hpp"

namespace foretrain {
namespace {

struct PlainJob {
  double submit = 0.0;
  double duration = 0.0;
  double limit = 0.0;
  int hosts = 1;
  double start = -1.0;

  [[nodiscard]] double end() const { return start + std::min(duration, limit); }
};

/// Hosts taken in [from, to) by the limit of a running job, or by a reservation.
struct Taken {
  double from;
  double to;
  int hosts;
};

bool fits_at(const std::vector<Taken>& taken, const PlainJob& job, double from, int hosts) {
  const auto free_at = [&](double time) {
    int free = hosts;
    for (const Taken& each : taken)
      if (each.from <= time && time < each.to) free -= each.hosts;
    return free >= job.hosts;
  };
  if (!free_at(from)) return false;
  return std::all_of(taken.begin(), taken.end(), [&](const Taken& each) {
    return each.from <= from || each.from >= from + job.limit || free_at(each.from);
  });
}

double earliest_of(const std::vector<Taken>& taken, const PlainJob& job, double now, int hosts) {
  double best = fits_at(taken, job, now, hosts) ? now : std::numeric_limits<double>::infinity();
  for (const Taken& each : taken)
    if (each.to > now && each.to < best && fits_at(taken, job, each.to, hosts)) best = each.to;
  return best;
}

void plain_pass(std::vector<PlainJob>& jobs, double now, int hosts, int reservations) {
  std::vector<Taken> taken;
  for (const PlainJob& job : jobs)
    if (job.start >= 0.0 && job.end() > now)
      taken.push_back({job.start, job.start + job.limit, job.hosts});
  int held = 0;
  for (PlainJob& job : jobs) {
    if (job.submit > now || job.start >= 0.0) continue;
    const double start = earliest_of(taken, job, now, hosts);
    if (start == now) job.start = now;
    if (start > now && ++held > reservations) continue;
    taken.push_back({start, start + job.limit, job.hosts});
  }
}

/// First come, first served; `reservations` as in Backfill.
void plain_schedule(std::vector<PlainJob>& jobs, int hosts, int reservations) {
  double now = -1.0;
  while (true) {
    double next = std::numeric_limits<double>::infinity();
    for (const PlainJob& job : jobs) {
      if (job.submit > now) next = std::min(next, job.submit);
      if (job.start >= 0.0 && job.end() > now) next = std::min(next, job.end());
    }
    if (next == std::numeric_limits<double>::infinity()) return;
    now = next;
    plain_pass(jobs, now, hosts, reservations);
  }
}

/// Times in whole seconds, so that many things happen at once and no sum is rounded.
std::vector<PlainJob> random_jobs(Random& random, int hosts) {
  std::vector<PlainJob> jobs;
  double time = 0.0;
  for (int i = 0; i < 60; ++i) {
    time += static_cast<double>(random.below(30));
    PlainJob job{time, 1.0 + static_cast<double>(random.below(200))};
    job.limit = std::max(1.0, std::floor(job.duration * (0.8 + 2.0 * random.uniform())));
    job.hosts = 1 + static_cast<int>(random.below(static_cast<std::size_t>(hosts)));
    if (random.below(2) == 0) job.hosts = 1;
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace

TEST_CASE("random workloads: backfill starts each job when its definition says", "[sim][queue]") {
  for (int seed = 0; seed < 120; ++seed) {
    Random random{static_cast<std::uint64_t>(seed) * 104729 + 17};
    const int hosts = 2 + static_cast<int>(random.below(14));
    std::vector<PlainJob> jobs = random_jobs(random, hosts);
    QueueModel model;
    model.hosts = hosts;
    model.horizon = Seconds{100000.0};
    model.policy.backfill = find_backfill(seed % 3 == 0 ? "easy" : "conservative");
    QueueClass listed;
    for (const PlainJob& job : jobs)
      listed.arrivals.listed.push_back(
          {Seconds{job.submit}, Seconds{job.duration}, Seconds{job.limit}, job.hosts});
    model.classes = {listed};
    plain_schedule(jobs, hosts, model.policy.backfill->reservations);
    const QueueSample sample = simulate_queue(model, {0, 10, true});
    REQUIRE(sample.schedule.size() == jobs.size());
    for (const ScheduledStretch& stretch : sample.schedule) {
      CAPTURE(seed, hosts, model.policy.backfill->name, stretch.job);
      REQUIRE(stretch.start.value() == jobs[static_cast<std::size_t>(stretch.job)].start);
    }
  }
}

}  // namespace foretrain
