// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <variant>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/cluster.hpp"

namespace foretrain {

/// The switches of an irregular network and how far they are from each other. A cable end is
/// 2 * cable, away from its first switch, or 2 * cable + 1, back; cables are numbered pair by pair.
struct SwitchGraph {
  static constexpr int most_switches = 4096;
  static constexpr int most_nics = 65'536;
  static constexpr int most_cables = 262'144;
  static constexpr std::uint8_t no_way = 255;

  int switches = 0;
  std::vector<int> first;      ///< by switch, into `out`; one more at the end
  std::vector<int> out;        ///< cable ends that leave each switch
  std::vector<int> far;        ///< the switch that each cable end leads to
  std::vector<int> row;        ///< by switch, into `hops`; -1 where no NIC is
  std::vector<int> with_nics;  ///< switches, by row
  /// By row and switch: cables on a shortest path from the switch to that of the row, or no_way.
  std::vector<std::uint8_t> hops;
  /// The NICs of every host are on as many switches, and flows stay on their rail.
  bool rails = false;

  [[nodiscard]] std::uint8_t hops_to(int target, int from) const {
    const auto place = static_cast<std::size_t>(row[static_cast<std::size_t>(target)]) *
                       static_cast<std::size_t>(switches);
    return hops[place + static_cast<std::size_t>(from)];
  }
};

/// Shortest paths by breadth-first search from every switch with NICs. Memory: a byte per switch
/// with NICs and switch, 16 MiB at most.
/// @param nics_per_host of the hosts, which come one after the other in `shape.nics`
/// @return why there is no such network: numbers that fit nothing, a pair of switches listed twice,
///   hosts that cannot reach each other, more switches or cables than the limits above
/// @pre nics_per_host >= 1
[[nodiscard]] std::variant<SwitchGraph, Infeasible> switch_graph(const IrregularShape& shape,
                                                                 int nics_per_host);

/// Rate that the busiest cable would need, in NICs' rates, when all NICs send as fast as they can,
/// each an equal part to every NIC below other switches (on rails: to those of its own rail), over
/// shortest paths that share evenly. On tiers of equal switches this is their oversubscription.
/// Nothing leaves a switch: 0.
[[nodiscard]] double busiest_cable(const SwitchGraph& graph, const IrregularShape& shape,
                                   int nics_per_host);

/// Hosts in a row below the same switches: the shortest such row but the last; 0: all hosts.
[[nodiscard]] int hosts_below_same_switches(const IrregularShape& shape, int nics_per_host);

/// Cables on the longest shortest path between two NICs, their own included.
[[nodiscard]] int longest_shortest_path(const SwitchGraph& graph);

}  // namespace foretrain
