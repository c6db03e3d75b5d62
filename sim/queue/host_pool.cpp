// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/internal/host_pool.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace foretrain::internal {
namespace {

/// Hosts that are read at a time.
constexpr std::size_t stride = 16;

/// The first place from `from` on at which `holds`; the size where there is none.
template <class Condition>
std::size_t first_place(const std::vector<int>& free, std::size_t from, Condition holds) {
  const int* const values = free.data();
  std::size_t place = from;
  for (; place + stride <= free.size(); place += stride) {
    int any = 0;
    for (std::size_t i = 0; i < stride; ++i) any |= static_cast<int>(holds(values[place + i]));
    if (any != 0) break;
  }
  while (place < free.size() && !holds(values[place])) ++place;
  return place;
}

}  // namespace

HostPool::HostPool(int hosts, int leaf_hosts, HostPlacement placement)
    : leaf_hosts_{leaf_hosts > 0 ? std::min(leaf_hosts, hosts) : hosts},
      free_{hosts},
      placement_{placement} {
  for (int left = hosts; left > 0; left -= leaf_hosts_)
    by_leaf_.push_back(std::min(left, leaf_hosts_));
}

int HostPool::least_leaves(int hosts) const { return (hosts + leaf_hosts_ - 1) / leaf_hosts_; }

/// The leaf that has the fewest free hosts of those that hold the job.
std::optional<std::size_t> HostPool::best_leaf(int hosts) const {
  std::optional<std::size_t> best;
  for (std::size_t leaf = 0; leaf < by_leaf_.size(); ++leaf)
    if (by_leaf_[leaf] >= hosts && (!best || by_leaf_[leaf] < by_leaf_[*best])) best = leaf;
  return best;
}

bool HostPool::holds(int hosts, bool within_leaf) const {
  return hosts <= free_ && (!within_leaf || by_leaf_.size() == 1 || best_leaf(hosts));
}

void HostPool::take(int hosts, bool within_leaf, Places& places) {
  places.clear();
  free_ -= hosts;
  if (by_leaf_.size() == 1) {
    by_leaf_.front() -= hosts;
    places.push_back({0, hosts});
    return;
  }
  const auto take_on = [&](std::size_t leaf, int count) {
    by_leaf_[leaf] -= count;
    places.push_back({leaf, count});
  };
  if (within_leaf || placement_ == HostPlacement::pack) {
    if (const auto leaf = best_leaf(hosts)) {
      take_on(*leaf, hosts);
      return;
    }
  }
  // Packed: whole leaves first, so that few are touched. Otherwise as hosts are numbered.
  int left = hosts;
  for (std::size_t leaf = 0; left > 0 && placement_ == HostPlacement::any; ++leaf)
    if (const int count = std::min(left, by_leaf_[leaf]); count > 0) {
      take_on(leaf, count);
      left -= count;
    }
  while (left > 0) {
    const auto fits = best_leaf(left);
    const std::size_t leaf = fits ? *fits : freest();
    const int count = std::min(left, by_leaf_[leaf]);
    take_on(leaf, count);
    left -= count;
  }
}

void HostPool::give_back(const Places& places) {
  for (const LeafShare& share : places) {
    by_leaf_[share.leaf] += share.hosts;
    free_ += share.hosts;
  }
}

void HostPool::take_one(std::size_t leaf) {
  --by_leaf_[leaf];
  --free_;
}

void HostPool::give_one(std::size_t leaf) {
  ++by_leaf_[leaf];
  ++free_;
}

std::size_t HostPool::freest() const {
  return static_cast<std::size_t>(std::ranges::max_element(by_leaf_) - by_leaf_.begin());
}

FreeProfile::FreeProfile(double now, int free, std::vector<std::pair<double, int>>& changes) {
  const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::ranges::is_sorted(changes, earlier)) std::ranges::sort(changes, earlier);
  times_.reserve(2 * changes.size() + 1);
  free_.reserve(2 * changes.size() + 1);
  times_.push_back(now);
  free_.push_back(free);
  for (const auto& [time, hosts] : changes) {
    if (time > times_.back()) {
      times_.push_back(time);
      free_.push_back(free_.back());
    }
    free_.back() += hosts;
  }
}

std::size_t FreeProfile::place_of(double time) const {
  if (times_.size() == 1 || time < times_[1]) return 0;
  const auto after = std::upper_bound(times_.begin(), times_.end(), time);
  return static_cast<std::size_t>(after - times_.begin()) - 1;
}

bool FreeProfile::fits(int hosts, double from, double lasts) const {
  const std::size_t place = place_of(from);
  if (free_[place] < hosts) return false;
  const std::size_t short_of = first_place(free_, place, [=](int free) { return free < hosts; });
  return short_of == free_.size() || times_[short_of] >= from + lasts;
}

double FreeProfile::earliest(int hosts, double now, double lasts) const {
  for (std::size_t place = place_of(now); place < free_.size();) {
    place = first_place(free_, place, [=](int free) { return free >= hosts; });
    if (place == free_.size()) break;
    const double start = std::max(now, times_[place]);
    place = first_place(free_, place, [=](int free) { return free < hosts; });
    if (place == free_.size() || times_[place] >= start + lasts) return start;
  }
  return std::numeric_limits<double>::infinity();
}

std::size_t FreeProfile::split(double time) {
  const std::size_t place = place_of(time);
  if (times_[place] >= time) return place;
  const auto after = static_cast<std::ptrdiff_t>(place) + 1;
  times_.insert(std::next(times_.begin(), after), time);
  free_.insert(std::next(free_.begin(), after), free_[place]);
  return place + 1;
}

void FreeProfile::take(int hosts, double from, double lasts) {
  const std::size_t first = split(from);
  const std::size_t last = split(from + lasts);
  for (std::size_t i = first; i < last; ++i) free_[i] -= hosts;
}

}  // namespace foretrain::internal
