// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "topologies/imports/network_description.hpp"

namespace foretrain::imports {

/// The hosts of a network that are for training, and its parts that no cable joins.
struct NetworkPlanes {
  int nics = 0;             ///< per host
  int hosts = 0;            ///< that are taken
  double gbit = 0.0;        ///< rate of their NICs
  std::vector<bool> taken;  ///< hosts with the usual number of NICs
  std::vector<int> plane;   ///< of a switch; -1: of none with such a host
  int count = 0;
};

/// Hosts with another number of NICs (storage, management) and switches without a way to the others
/// are left out and noted. @throws ImportError where planes are no rails
[[nodiscard]] NetworkPlanes network_planes(const NetworkDescription& network, ImportNotes& notes);

/// The hosts that are taken and the switches that they reach, cable by cable. A cable of several
/// times the NICs' rate counts as so many cables. `refused` says why where a cable has another rate
/// or the network is beyond the limits of switch_graph().
[[nodiscard]] FoundSwitches found_switches(const NetworkDescription& network,
                                           const NetworkPlanes& planes);

/// The most common value, the largest of equals.
template <class T>
T usual(const std::vector<T>& values) {
  std::map<T, int> count;
  for (const T& value : values) ++count[value];
  T best{};
  int most = 0;
  for (const auto& [value, times] : count)
    if (times >= most) {
      best = value;
      most = times;
    }
  return best;
}

}  // namespace foretrain::imports
