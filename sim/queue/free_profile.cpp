// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/internal/free_profile.hpp"

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

FreeProfile::FreeProfile(double now, int free, std::vector<std::pair<double, int>>& changes) {
  const auto earlier = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(changes.begin(), changes.end(), earlier))
    std::sort(changes.begin(), changes.end(), earlier);
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
