// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/collectives/collective_cost.hpp"

namespace foretrain {

/// The members of a process group by the scale-up domains they sit in: hosts, or several hosts
/// each. Algorithms speak of members by their position in the group, from 0.
struct Seats {
  std::vector<int> gpu;                 ///< by position: its number on the machine
  std::vector<int> place;               ///< by position: index of its GPU in the host
  std::vector<int> host_of;             ///< by position: index into `hosts`
  std::vector<std::vector<int>> hosts;  ///< positions, by host in order of its first member
  int span_hosts = 1;                   ///< as CommGroup has it
  int domain_hosts = 1;

  [[nodiscard]] int size() const { return static_cast<int>(gpu.size()); }
  [[nodiscard]] int host_count() const { return static_cast<int>(hosts.size()); }
  /// Members of the host that has fewest.
  [[nodiscard]] int fewest_on_a_host() const;
  /// Rings or trees side by side, each over its own NIC of every domain; one within a domain.
  [[nodiscard]] int channels() const { return hosts.size() == 1 ? 1 : fewest_on_a_host(); }
  [[nodiscard]] bool same_host(int a, int b) const { return host_of[at(a)] == host_of[at(b)]; }
  /// Where `channel` comes into a host and leaves it again.
  [[nodiscard]] int head(int host, int channel) const;
  /// Members of a host as `channel` passes them: its head first, then around.
  [[nodiscard]] std::vector<int> order_on(int host, int channel) const;
  /// As the cost model sees the group: domains that hold unequal numbers count as holding the
  /// fewest.
  [[nodiscard]] CommGroup group() const;

 private:
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
};

/// @pre packing.host >= 1; `gpus` is not empty, not negative, and names none twice.
[[nodiscard]] Seats seats_of(std::vector<int> gpus, const Packing& packing);

}  // namespace foretrain
