// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/internal/host_pool.hpp"

#include <algorithm>

namespace foretrain::internal {

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
  return static_cast<std::size_t>(std::max_element(by_leaf_.begin(), by_leaf_.end()) -
                                  by_leaf_.begin());
}

}  // namespace foretrain::internal
