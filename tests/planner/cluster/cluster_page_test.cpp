// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/cluster/cluster_report.hpp"
#include "planner/cluster/internal/cluster_charts.hpp"
#include "planner/cluster/internal/cluster_gantt.hpp"
#include "planner/page/answer_page.hpp"
#include "tests/planner/cluster/cluster_texts.hpp"
#include "tests/test_text.hpp"

namespace foretrain {
namespace {

using cluster_texts::source;
using internal::ClusterBar;
using internal::ClusterWindow;
using test::has;

/// A year of a cluster with failures, maintenance and sizes from 1 to 8 hosts.
const ClusterFile& university() {
  static const ClusterFile file = load_cluster(source / "scenarios/clusters/university.yaml");
  return file;
}

QueueSample sample_of(const ClusterFile& file) {
  QueueRunOptions options;
  options.schedule = true;
  return simulate_queue(file.queue, options);
}

ScheduledStretch stretch_of(std::int64_t job, double submit, double start, double end, int hosts) {
  return {0, job, Seconds{submit}, Seconds{start}, Seconds{end}, hosts, 1, true};
}

bool overlap(const ScheduledStretch& a, const ScheduledStretch& b) {
  return a.start < b.end && b.start < a.end;
}

}  // namespace

TEST_CASE("cluster page: no host has two jobs at a time, and jobs have all of theirs",
          "[planner][cluster]") {
  const ClusterFile& file = university();
  const QueueSample sample = sample_of(file);
  const ClusterWindow window{20.0 * 86400.0, 90.0 * 86400.0};
  const auto bars = internal::placed_bars(sample.schedule, window, file.queue.hosts);
  REQUIRE(bars.size() > 1000);
  std::map<std::size_t, int> hosts;
  std::vector<std::vector<const ScheduledStretch*>> rows(
      static_cast<std::size_t>(file.queue.hosts));
  bool clash = false;
  for (const ClusterBar& bar : bars) {
    const ScheduledStretch& stretch = sample.schedule[bar.stretch];
    REQUIRE(bar.first >= 0);
    REQUIRE(bar.first + bar.hosts <= file.queue.hosts);
    hosts[bar.stretch] += bar.hosts;
    for (int i = bar.first; i < bar.first + bar.hosts; ++i) {
      auto& row = rows[static_cast<std::size_t>(i)];
      for (const ScheduledStretch* other : row) clash = clash || overlap(*other, stretch);
      row.push_back(&stretch);
    }
  }
  CHECK(!clash);
  for (const auto& [index, count] : hosts) CHECK(count == sample.schedule[index].hosts);
  const auto inside = std::count_if(
      sample.schedule.begin(), sample.schedule.end(), [&](const ScheduledStretch& stretch) {
        return stretch.start.value() < window.to && stretch.end.value() > window.from;
      });
  CHECK(hosts.size() == static_cast<std::size_t>(inside));
}

TEST_CASE("cluster page: hosts by class are the hosts that the simulation has allocated",
          "[planner][cluster]") {
  const ClusterFile& file = university();
  QueueRunOptions options;
  options.schedule = true;
  options.bins = 73;
  const QueueSample sample = simulate_queue(file.queue, options);
  const auto hosts = internal::hosts_by_class(sample.schedule, file.queue.classes.size(),
                                              {0.0, file.queue.horizon.value()}, 73);
  REQUIRE(hosts.size() == 4);
  for (std::size_t bin = 0; bin < 73; ++bin) {
    double sum = 0.0;
    for (const auto& own : hosts) sum += own[bin];
    CAPTURE(bin);
    CHECK(sum == Approx(sample.bins[bin].allocated).margin(1e-6));
  }
}

TEST_CASE("cluster page: bars by hand", "[planner][cluster]") {
  // Hosts 0 and 1, then 2; 0 and 1 fall free; three hosts find 0, 1 and 3.
  const std::vector<ScheduledStretch> schedule{
      stretch_of(1, 0, 0, 10, 2), stretch_of(2, 0, 0, 30, 1), stretch_of(3, 5, 10, 20, 3),
      stretch_of(4, 6, 20, 40, 2)};
  const auto bars = internal::placed_bars(schedule, {0.0, 40.0}, 4);
  REQUIRE(bars.size() == 5);
  const auto is = [&](std::size_t i, std::size_t stretch, int first, int hosts) {
    return bars[i].stretch == stretch && bars[i].first == first && bars[i].hosts == hosts;
  };
  CHECK(is(0, 0, 0, 2));
  CHECK(is(1, 1, 2, 1));
  CHECK(is(2, 2, 0, 2));
  CHECK(is(3, 2, 3, 1));
  CHECK(is(4, 3, 0, 2));
  // All of it fits, or what is around time 6, when two jobs wait.
  const ClusterWindow all{0.0, 40.0};
  CHECK(internal::shown_window(schedule, all, 4).length() == 40.0);
  const ClusterWindow some = internal::shown_window(schedule, all, 3);
  CHECK(some.from <= 6.0);
  CHECK(some.to >= 6.0);
  CHECK(some.to == Approx(20.0));
}

TEST_CASE("cluster page: many classes share a colour", "[planner][cluster]") {
  const auto looks = internal::class_looks({1, 9, 2, 8, 3, 7, 4, 6, 5, 0});
  CHECK(looks.shown == std::vector<int>{1, 3, 4, 5, 6, 7, 8});
  CHECK(looks.has_others());
  CHECK(looks.together[0]);
  CHECK(std::string(looks.paints[9].light) == palette::grey.light);
  CHECK(!internal::class_looks({1, 2, 3}).has_others());
}

TEST_CASE("cluster page: names are text, never markup", "[planner][cluster]") {
  const ClusterFile file = cluster_texts::read(
      "schema: 1\nname: \"<b>x</b> & 'y'\"\ncluster: {host: dgx-h100, hosts: 4}\nworkload:\n"
      "  horizon: 10 days\n  classes:\n    - {name: \"<script>alert(1)</script>\", arrivals: "
      "{poisson: 6 per day}, hosts: 1, duration: {exponential: 4 h}}\npolicy: {}\n");
  QueueStudyOptions options;
  options.replications = 2;
  const QueueSummary summary = *study_queue(file.queue, options);
  const std::string page =
      answer_page(cluster_answer(file, summary, sample_of(file).schedule), "queue");
  CHECK(!has(page, "<script"));
  CHECK(!has(page, "<b>x"));
  CHECK(has(page, "&lt;script&gt;alert(1)"));
  CHECK(has(page, "Jobs on hosts</h3>"));
  CHECK(has(page, "&lt;b&gt;x&lt;/b&gt; &amp; 'y'"));
  // Without a schedule it says so.
  CHECK(has(answer_page(cluster_answer(file, summary), "queue"), "no schedule is drawn"));
}

}  // namespace foretrain
