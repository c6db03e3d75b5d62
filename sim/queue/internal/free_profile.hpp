// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace foretrain::internal {

/// How many hosts will be free from now on, by what running jobs' time limits, blocks and
/// reservations say: a step function that stays as it is after its last point. Times in seconds.
class FreeProfile {
 public:
  /// @param changes times and hosts that become free (or, below zero, are taken); any order; none
  ///   before `now`
  FreeProfile(double now, int free, std::vector<std::pair<double, int>>& changes);
  FreeProfile() = default;

  /// Whether `hosts` are free all the time from `from` for `lasts`. @pre from >= the first point
  [[nodiscard]] bool fits(int hosts, double from, double lasts) const;
  /// The first time from `now` on at which they are; infinite where there is none.
  [[nodiscard]] double earliest(int hosts, double now, double lasts) const;
  /// Takes them.
  void take(int hosts, double from, double lasts);

 private:
  /// The point that holds at `time`.
  [[nodiscard]] std::size_t place_of(double time) const;
  std::size_t split(double time);

  // Times apart from hosts, so that hosts are read many at a time.
  std::vector<double> times_;
  std::vector<int> free_;  ///< from its time to the next; below zero where blocks take hosts in use
};

}  // namespace foretrain::internal
