// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "sim/queue/queue_model.hpp"

namespace foretrain::internal {

/// Hosts of a job on one leaf.
struct LeafShare {
  std::size_t leaf = 0;
  int hosts = 0;
};
using Places = std::vector<LeafShare>;

/// Which hosts are free, leaf by leaf. Hosts of a leaf are alike.
class HostPool {
 public:
  /// @param leaf_hosts 0: all on one leaf; the last leaf may have fewer
  HostPool(int hosts, int leaf_hosts, HostPlacement placement);

  [[nodiscard]] int free() const { return free_; }
  [[nodiscard]] int free_on(std::size_t leaf) const { return by_leaf_[leaf]; }
  [[nodiscard]] std::size_t leaves() const { return by_leaf_.size(); }
  /// Fewest leaves that hold so many hosts.
  [[nodiscard]] int least_leaves(int hosts) const;

  /// Whether the free hosts can take a job.
  [[nodiscard]] bool holds(int hosts, bool within_leaf) const;
  /// Takes them into `places`, which is emptied first. @pre holds()
  void take(int hosts, bool within_leaf, Places& places);
  void give_back(const Places& places);

  /// Moves one host of a leaf out of, or back into, what is free. @pre there is one
  void take_one(std::size_t leaf);
  void give_one(std::size_t leaf);
  /// The leaf with most free hosts.
  [[nodiscard]] std::size_t freest() const;

 private:
  [[nodiscard]] std::optional<std::size_t> best_leaf(int hosts) const;

  std::vector<int> by_leaf_;
  int leaf_hosts_;
  int free_;
  HostPlacement placement_;
};

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
