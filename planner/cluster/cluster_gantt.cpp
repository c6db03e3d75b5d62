// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <queue>
#include <set>
#include <utility>

#include "models/base/require.hpp"
#include "planner/cluster/internal/cluster_gantt.hpp"

namespace foretrain::internal {
namespace {

bool lies_in(const ScheduledStretch& stretch, const ClusterWindow& window) {
  return stretch.start.value() < window.to && stretch.end.value() > window.from;
}

std::size_t count_in(const std::vector<ScheduledStretch>& schedule, const ClusterWindow& window) {
  return static_cast<std::size_t>(std::ranges::count_if(
      schedule, [&](const ScheduledStretch& stretch) { return lies_in(stretch, window); }));
}

/// When most jobs wait for their first start.
double longest_queue_at(const std::vector<ScheduledStretch>& schedule,
                        const ClusterWindow& within) {
  std::vector<std::pair<double, int>> changes;
  std::set<std::int64_t> known;
  for (const ScheduledStretch& stretch : schedule) {
    if (!known.insert(stretch.job).second || stretch.start <= stretch.submit) continue;
    changes.emplace_back(stretch.submit.value(), 1);
    changes.emplace_back(stretch.start.value(), -1);
  }
  std::ranges::sort(changes);
  double at = 0.5 * (within.from + within.to);
  int waiting = 0;
  int most = 0;
  for (const auto& [time, change] : changes) {
    waiting += change;
    if (waiting <= most || time < within.from || time >= within.to) continue;
    most = waiting;
    at = time;
  }
  return at;
}

ClusterWindow around(double at, double length, const ClusterWindow& within) {
  const double from =
      std::clamp(at - 0.5 * length, within.from, std::max(within.from, within.to - length));
  return {from, std::min(within.to, from + length)};
}

/// Numbers of hosts that are free, as runs: first and count.
class FreeHosts {
 public:
  explicit FreeHosts(int hosts) { runs_.emplace(0, hosts); }

  /// The lowest run of so many, else what the lowest run has. @pre one is free
  std::pair<int, int> take(int hosts) {
    FORETRAIN_REQUIRE(!runs_.empty());
    auto run =
        std::ranges::find_if(runs_, [hosts](const auto& each) { return each.second >= hosts; });
    if (run == runs_.end()) run = runs_.begin();
    const int first = run->first;
    const int taken = std::min(hosts, run->second);
    const int left = run->second - taken;
    runs_.erase(run);
    if (left > 0) runs_.emplace(first + taken, left);
    return {first, taken};
  }

  void give_back(int first, int count) {
    auto next = runs_.lower_bound(first);
    if (next != runs_.end() && first + count == next->first) {
      count += next->second;
      next = runs_.erase(next);
    }
    if (next != runs_.begin()) {
      const auto before = std::prev(next);
      if (before->first + before->second == first) {
        before->second += count;
        return;
      }
    }
    runs_.emplace(first, count);
  }

 private:
  std::map<int, int> runs_;
};

}  // namespace

ClusterWindow shown_window(const std::vector<ScheduledStretch>& schedule,
                           const ClusterWindow& within, std::size_t most) {
  if (count_in(schedule, within) <= most) return within;
  const double at = longest_queue_at(schedule, within);
  double fits = 0.0;
  double length = within.length();
  constexpr int steps = 24;
  for (int i = 0; i < steps; ++i) {
    const double middle = 0.5 * (fits + length);
    (count_in(schedule, around(at, middle, within)) <= most ? fits : length) = middle;
  }
  return around(at, fits, within);
}

std::vector<ClusterBar> placed_bars(const std::vector<ScheduledStretch>& schedule,
                                    const ClusterWindow& window, int hosts) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < schedule.size(); ++i)
    if (lies_in(schedule[i], window)) order.push_back(i);
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return schedule[a].start < schedule[b].start; });
  FreeHosts free(hosts);
  std::vector<ClusterBar> bars;
  using Ending = std::pair<double, std::size_t>;  // time, index of the bar
  std::priority_queue<Ending, std::vector<Ending>, std::greater<>> endings;
  for (const std::size_t index : order) {
    const ScheduledStretch& stretch = schedule[index];
    while (!endings.empty() && endings.top().first <= stretch.start.value()) {
      const ClusterBar& ended = bars[endings.top().second];
      free.give_back(ended.first, ended.hosts);
      endings.pop();
    }
    for (int left = stretch.hosts; left > 0;) {
      const auto [first, taken] = free.take(left);
      left -= taken;
      endings.emplace(stretch.end.value(), bars.size());
      bars.push_back({index, first, taken});
    }
  }
  return bars;
}

std::vector<std::vector<double>> hosts_by_class(const std::vector<ScheduledStretch>& schedule,
                                                std::size_t classes, const ClusterWindow& window,
                                                std::size_t parts) {
  std::vector<std::vector<double>> hosts(classes, std::vector<double>(parts, 0.0));
  const double part_s = window.length() / static_cast<double>(parts);
  for (const ScheduledStretch& stretch : schedule) {
    const double from = std::max(stretch.start.value(), window.from);
    const double to = std::min(stretch.end.value(), window.to);
    if (!(to > from)) continue;
    std::vector<double>& own = hosts[static_cast<std::size_t>(stretch.job_class)];
    auto part = static_cast<std::size_t>((from - window.from) / part_s);
    for (; part < parts; ++part) {
      const double begin = window.from + static_cast<double>(part) * part_s;
      if (begin >= to) break;
      const double held = std::min(to, begin + part_s) - std::max(from, begin);
      own[part] += stretch.hosts * std::max(0.0, held) / part_s;
    }
  }
  return hosts;
}

}  // namespace foretrain::internal
