// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "models/inputs/simulation.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// How one flow finds its way. Equal choices on equal fabrics give equal routes.
struct RouteChoice {
  std::uint64_t seed =
      0;  ///< of the switches' ECMP hash; another seed is another set of collisions
  /// Tells flows between the same two GPUs apart: channel, queue pair. It leaves on port flow %
  /// ports of its NIC.
  int flow = 0;
  /// Forces the cable out of the first leaf, modulo its cables, where that cable is legal.
  std::optional<int> uplink;
  /// On rails, a flow to another rail crosses NVLink first and leaves on the receiver's rail (PXN).
  bool rail_aware = true;
  /// Adaptive routing: every switch takes the least loaded legal link, by LinkId, in any unit. Ties
  /// fall as the hash says. Null: the hash alone.
  const std::vector<double>* load = nullptr;
  const LinkSet* down = nullptr;  ///< links that carry nothing; null: none
};

/// Flows that bytes between two hosts are spread over: the connections, at least one for every port
/// of a NIC and as many for each; sprayed, one for every cable of a leaf and port. Flow f of those
/// that are sprayed has `spray_uplink(fabric, f)` as its RouteChoice::uplink.
/// @pre connections >= 1; sprayed only over a ClosShape
[[nodiscard]] int flows_between_hosts(const Fabric& fabric, RoutingKind routing, int connections);
[[nodiscard]] int spray_uplink(const Fabric& fabric, int flow);

/// Writes the links from one GPU to another, in order; none where they are the same GPU. Nothing is
/// looked up: every link number follows from the two ranks, so a route costs no memory.
///
/// Routes are minimal while nothing is down: NVLink within a scale-up domain; up to the nearest
/// common tier and down again; local, global, local in a dragonfly; dimension by dimension in a
/// torus; in an irregular network any shortest path by hops, cable after cable drawn among those
/// that bring it nearer (the distances of its SwitchGraph are the one table here). Around failures,
/// switches choose among next hops from which the receiver can still be reached; a GPU that lost
/// its NIC or rail goes over NVLink to a neighbour's NIC; a dragonfly goes through a third router
/// or group; a torus turns in another order or the long way round a ring; an irregular network has
/// shortest paths over what is left, searched for every flow.
///
/// @return false where no such route is left; `links` is then empty.
/// @pre 0 <= from, to < fabric.gpus(); load and down have one entry per link.
[[nodiscard]] bool route(const Fabric& fabric, int from, int to, const RouteChoice& choice,
                         std::vector<LinkId>& links);

/// route() for flows 0 to count - 1 between the same two GPUs, whose ends are found once.
/// @param choice its `flow` and, where they are sprayed, its `uplink` are set for each
/// @param use called with the links of each, before the next is looked for
/// @return false where no route is left for one
[[nodiscard]] bool routes(const Fabric& fabric, int from, int to, int count, bool sprayed,
                          RouteChoice& choice, std::vector<LinkId>& links,
                          const std::function<void(std::span<const LinkId>)>& use);

}  // namespace foretrain
