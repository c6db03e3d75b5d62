// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// What a check walks on: everything, or NICs and switches without what is inside hosts.
enum class Scope { whole, network };

/// Links on a shortest path from `start` to every node; -1 where there is none.
/// @param down links left out; null: none. The same below.
[[nodiscard]] std::vector<int> hops_from(const Fabric& fabric, NodeId start,
                                         Scope scope = Scope::whole, const LinkSet* down = nullptr);

/// Why some GPUs cannot reach others, with the first pair that cannot.
[[nodiscard]] std::optional<Infeasible> disconnected(const Fabric& fabric,
                                                     const LinkSet* down = nullptr);

/// Most links on a shortest path between any two GPUs. @pre connected
/// Walks from every GPU of the first, the middle and the last host: exact where hosts look alike
/// from anywhere, else a lower bound.
[[nodiscard]] int diameter(const Fabric& fabric, const LinkSet* down = nullptr);

/// Bandwidth that can flow from all `sources` to all `sinks` at once, routed at will (maximum
/// flow by push-relabel).
/// @pre both are non-empty, disjoint sets of nodes within `scope`.
[[nodiscard]] BytesPerSecond max_flow(const Fabric& fabric, const std::vector<NodeId>& sources,
                                      const std::vector<NodeId>& sinks, Scope scope = Scope::whole,
                                      const LinkSet* down = nullptr);

/// Hosts of one half, by number; whole scale-up domains where there are two or more.
[[nodiscard]] int half_of_hosts(const Fabric& fabric);

/// Maximum flow from the GPUs of the first half of the hosts to those of the other half; with an
/// odd number of hosts or domains the middle one belongs to neither. @pre at least two hosts
[[nodiscard]] BytesPerSecond bisection(const Fabric& fabric, const LinkSet* down = nullptr);

/// The worst halving by arithmetic, with nothing down: NIC rate times the share that crosses
/// switches, or the cables of the cut times their rate; never more than half of the hosts can send
/// over NICs and PCIe. Nothing for a dragonfly that is not full or has an odd number of groups, for
/// a torus whose last side is odd or not the longest, an irregular network, and for one host.
[[nodiscard]] std::optional<BytesPerSecond> closed_form_bisection(const Fabric& fabric);

/// Ways between two hosts of which no two share a link outside the hosts. @pre first != second
[[nodiscard]] int disjoint_paths(const Fabric& fabric, int first_host, int second_host,
                                 const LinkSet* down = nullptr);

/// Switches and NICs whose loss alone separates GPUs from each other (articulation points).
[[nodiscard]] std::vector<NodeId> single_points_of_failure(const Fabric& fabric,
                                                           const LinkSet* down = nullptr);

/// Cables plugged into a node.
[[nodiscard]] int ports_used(const Fabric& fabric, NodeId node);

}  // namespace foretrain
