// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/internal/free_profile.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

namespace foretrain::internal {

FreeProfile::FreeProfile(double now, int free, std::vector<std::pair<double, int>>& changes) {
  std::sort(changes.begin(), changes.end());
  points_.push_back({now, free});
  for (const auto& [time, hosts] : changes) {
    if (time > points_.back().time) points_.push_back({time, points_.back().free});
    points_.back().free += hosts;
  }
}

std::size_t FreeProfile::place_of(double time) const {
  const auto after =
      std::upper_bound(points_.begin(), points_.end(), time,
                       [](double value, const Point& point) { return value < point.time; });
  return after == points_.begin() ? 0 : static_cast<std::size_t>(after - points_.begin()) - 1;
}

bool FreeProfile::fits(int hosts, double from, double lasts) const {
  for (std::size_t i = place_of(from); i < points_.size(); ++i) {
    if (i > 0 && points_[i].time >= from + lasts) return true;
    if (points_[i].free < hosts) return false;
  }
  return true;
}

double FreeProfile::earliest(int hosts, double now, double lasts) const {
  double start = now;
  bool open = false;
  for (std::size_t i = place_of(now); i < points_.size(); ++i) {
    if (points_[i].free < hosts) {
      open = false;
      continue;
    }
    if (!open) start = std::max(now, points_[i].time);
    open = true;
    if (i + 1 == points_.size() || points_[i + 1].time >= start + lasts) return start;
  }
  return std::numeric_limits<double>::infinity();
}

std::size_t FreeProfile::split(double time) {
  const std::size_t place = place_of(time);
  if (points_[place].time >= time) return place;
  const Point point{time, points_[place].free};
  points_.insert(std::next(points_.begin(), static_cast<std::ptrdiff_t>(place) + 1), point);
  return place + 1;
}

void FreeProfile::take(int hosts, double from, double lasts) {
  const std::size_t first = split(from);
  const std::size_t last = split(from + lasts);
  for (std::size_t i = first; i < last; ++i) points_[i].free -= hosts;
}

}  // namespace foretrain::internal
