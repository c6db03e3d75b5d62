// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>

#include "sim/queue/queue_study.hpp"

namespace foretrain {
namespace {

constexpr double service_s = 3600.0;

QueueClass arriving(double load, int hosts, DurationKind kind = DurationKind::exponential) {
  QueueClass jobs;
  jobs.name = "jobs";
  jobs.duration.kind = kind;
  jobs.duration.typical = Seconds{service_s};
  jobs.arrivals.rate = PerSecond{load * hosts / service_s};
  return jobs;
}

QueueModel queue_of(int hosts, std::vector<QueueClass> classes) {
  QueueModel model;
  model.hosts = hosts;
  model.classes = std::move(classes);
  model.horizon = 200.0 * days;
  model.warm_up = 10.0 * days;
  return model;
}

QueueSummary studied(const QueueModel& model, int replications = 40) {
  QueueStudyOptions options;
  options.replications = replications;
  return *study_queue(model, options);
}

/// Probability that an arriving job waits in M/M/c (Erlang C).
double erlang_c(int servers, double offered) {
  double loss = 1.0;
  for (int k = 1; k <= servers; ++k) loss = offered * loss / (k + offered * loss);
  const double load = offered / servers;
  return loss / (1.0 - load * (1.0 - loss));
}

/// Within three half widths of the confidence interval: 1 test in 10^8 fails by chance.
void agrees(const QueueEstimate& estimate, double theory) {
  const double half = *estimate.high - estimate.value;
  CAPTURE(estimate.value, theory, half);
  CHECK(std::abs(estimate.value - theory) <= 3.0 * half);
  CHECK(half <= 0.12 * theory);
}

}  // namespace

TEST_CASE("M/M/c: mean wait, P90 and P99 are Erlang C's", "[sim][queue]") {
  const int hosts = GENERATE(1, 4, 32);
  const double load = GENERATE(0.5, 0.6, 0.8, 0.9, 0.95);
  CAPTURE(hosts, load);
  const QueueSummary summary =
      studied(queue_of(hosts, {arriving(load, hosts)}), hosts == 1 || load > 0.9 ? 100 : 40);
  const double waits = erlang_c(hosts, load * hosts);
  const double mean_of_waiting = service_s / (hosts * (1.0 - load));
  if (waits > 0.1) agrees(summary.all.wait.mean, waits * mean_of_waiting);
  // P(wait > t) = C exp(-t / mean_of_waiting)
  if (waits > 0.2) agrees(summary.all.wait.p90, mean_of_waiting * std::log(waits / 0.1));
  if (waits > 0.2) agrees(summary.all.wait.p99, mean_of_waiting * std::log(waits / 0.01));
  CHECK(summary.allocated.value == Approx(load).epsilon(0.02));
  CHECK(summary.productive.value == Approx(summary.allocated.value).epsilon(1e-12));
}

TEST_CASE("M/G/1: the mean wait is Pollaczek and Khinchine's", "[sim][queue]") {
  const DurationKind kind =
      GENERATE(DurationKind::fixed, DurationKind::uniform, DurationKind::lognormal,
               DurationKind::gamma, DurationKind::empirical);
  const double load = GENERATE(0.5, 0.7, 0.9);
  CAPTURE(name_of(kind), load);
  QueueClass jobs = arriving(load, 1, kind);
  jobs.duration.variation = 1.5;
  jobs.duration.least = Seconds{0.5 * service_s};
  jobs.duration.most = Seconds{1.5 * service_s};
  jobs.duration.values = {Seconds{0.2 * service_s}, Seconds{0.2 * service_s},
                          Seconds{2.6 * service_s}};
  REQUIRE(jobs.duration.mean().value() == Approx(service_s));
  const double theory =
      load / (1.0 - load) * (1.0 + jobs.duration.squared_variation()) / 2.0 * service_s;
  agrees(studied(queue_of(1, {jobs}), load > 0.7 ? 400 : 100).all.wait.mean, theory);
}

TEST_CASE("M/M/1 with two priorities: mean waits are Cobham's", "[sim][queue]") {
  const double load = GENERATE(0.5, 0.8, 0.95);
  CAPTURE(load);
  QueueClass urgent = arriving(0.3, 1);
  urgent.priority = 10.0;
  QueueModel model = queue_of(1, {urgent, arriving(load - 0.3, 1)});
  model.policy.order = find_order("priority");
  const QueueSummary summary = studied(model, load > 0.9 ? 300 : 100);
  const double residual = load * service_s;  // load times mean residual of exponential durations
  agrees(summary.classes[0].wait.mean, residual / (1.0 - 0.3));
  agrees(summary.classes[1].wait.mean, residual / ((1.0 - 0.3) * (1.0 - load)));
}

TEST_CASE("a cluster that starts loaded has no bias from its start, an empty one does",
          "[sim][queue]") {
  QueueModel model = queue_of(1, {arriving(0.9, 1)});
  model.horizon = 4.0 * days;
  model.warm_up = Seconds{};
  const double theory = 0.9 / 0.1 * service_s;
  agrees(studied(model, 3000).all.wait.mean, theory);
  model.loaded = false;
  CHECK(studied(model, 300).all.wait.mean.value < 0.8 * theory);
}

TEST_CASE("waiting jobs over time are arrivals times waits (Little), to the last second",
          "[sim][queue]") {
  QueueClass jobs = arriving(0.8, 2);
  jobs.sizes = {{1, 3.0}, {2, 1.0}};
  QueueModel model = queue_of(2, {jobs});
  // Arrivals of the first half, all of which have ended before the horizon.
  std::vector<ListedJob> listed;
  for (int i = 0; i < 500; ++i) listed.push_back({Seconds{i * 3000.0}, {}, {}, {}});
  model.classes[0].arrivals = {};
  model.classes[0].arrivals.listed = listed;
  model.warm_up = Seconds{};
  model.policy.backfill = find_backfill(GENERATE("none", "easy", "conservative"));
  const QueueSample sample = simulate_queue(model, {});
  REQUIRE(sample.classes[0].wait.size() == 500);
  double waits = 0.0;
  double host_s = 0.0;
  for (const float wait : sample.classes[0].wait) waits += wait;
  for (const auto& stretch : simulate_queue(model, {0, 10, true}).schedule)
    host_s += stretch.hosts * (stretch.end - stretch.start).value();
  CHECK(sample.waiting_job_s == Approx(waits).epsilon(1e-6));  // waits are kept as floats
  CHECK(sample.hosts.allocated == Approx(host_s).epsilon(1e-12));
}

TEST_CASE("a seed and a replication name one queue; threads change nothing", "[sim][queue]") {
  QueueModel model = queue_of(4, {arriving(0.8, 4)});
  QueueStudyOptions options;
  options.replications = 9;
  options.threads = 1;
  const QueueSummary one = *study_queue(model, options);
  options.threads = 5;
  const QueueSummary five = *study_queue(model, options);
  CHECK(one.all.wait.mean.value == five.all.wait.mean.value);
  CHECK(one.all.wait.p99.value == five.all.wait.p99.value);
  model.seed = 2;
  CHECK(study_queue(model, options)->all.wait.mean.value != one.all.wait.mean.value);
}

TEST_CASE("another number of hosts meets the same jobs", "[sim][queue]") {
  QueueModel model = queue_of(4, {arriving(0.6, 4)});
  model.loaded = false;
  const QueueSample few = simulate_queue(model, {0, 10, true});
  model.hosts = 400;
  const QueueSample many = simulate_queue(model, {0, 10, true});
  double sum_few = 0.0;
  double sum_many = 0.0;
  for (std::size_t i = 0; i < few.classes[0].wait.size(); ++i)
    sum_few += few.classes[0].turnaround[i] - few.classes[0].wait[i];
  REQUIRE(many.classes[0].wait.size() == few.classes[0].wait.size());
  for (const float turnaround : many.classes[0].turnaround) sum_many += turnaround;
  CHECK(sum_few == Approx(sum_many).epsilon(1e-5));
}

TEST_CASE("a daily and weekly cycle keeps the mean rate", "[sim][queue]") {
  QueueClass jobs = arriving(0.5, 100);
  jobs.arrivals.day.assign(24, 0.0);
  jobs.arrivals.day[10] = 3.0;
  jobs.arrivals.week = {1, 1, 1, 1, 1, 0, 0};
  QueueModel model = queue_of(1000, {jobs});
  model.warm_up = Seconds{};
  model.horizon = 70.0 * days;
  const QueueSample sample = simulate_queue(model, {0, 70 * 24, false});
  const double expected = jobs.arrivals.rate.value() * model.horizon.value();
  CHECK(static_cast<double>(sample.classes[0].wait.size()) == Approx(expected).epsilon(0.02));
  // Jobs of one hour, submitted from 10 to 11 on weekdays alone: none at 5, on no Saturday.
  CHECK(sample.bins[10].allocated > 100.0);
  CHECK(sample.bins[5 * 24 + 10].allocated < 1.0);
}

TEST_CASE("peaks raise the rate while they last", "[sim][queue]") {
  const ArrivalPeak peak{Seconds{100.0}, Seconds{10.0}, Seconds{1000.0}, 3.0};
  CHECK(!peak.holds(Seconds{99.0}));
  CHECK(peak.holds(Seconds{100.0}));
  CHECK(!peak.holds(Seconds{110.0}));
  CHECK(peak.holds(Seconds{2105.0}));
  ArrivalLaw law;
  law.rate = PerSecond{1.0};
  law.peaks = {peak};
  CHECK(law.rate_at(Seconds{105.0}).value() == 3.0);
  CHECK(law.highest_rate().value() == 3.0);
}

TEST_CASE("percentiles lie between the nearest ranks", "[sim][queue]") {
  std::vector<float> values{4, 1, 3, 2, 5};
  CHECK(share_below(values, 0.5) == 3.0);
  CHECK(share_below(values, 0.9) == Approx(4.6));
  CHECK(share_below(values, 1.0) == 5.0);
  std::vector<float> none;
  CHECK(share_below(none, 0.5) == 0.0);
}

}  // namespace foretrain
