// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/placement.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "models/base/index.hpp"
#include "models/base/require.hpp"
#include "topologies/fabrics/internal/fabric_builder.hpp"
#include "topologies/routes/internal/route_parts.hpp"

namespace foretrain {
namespace {

/// Hosts that no other job holds, by number.
std::variant<std::vector<int>, Infeasible> free_hosts(const Fabric& fabric,
                                                      const std::vector<int>& occupied) {
  std::vector<bool> held(index(fabric.spec.hosts), false);
  for (const int host : occupied) {
    if (host < 0 || host >= fabric.spec.hosts)
      return Infeasible{"unknown-host", "simulation.occupied",
                        "there is no host " + std::to_string(host),
                        "hosts are 0 to " + std::to_string(fabric.spec.hosts - 1)};
    held[index(host)] = true;
  }
  std::vector<int> hosts;
  for (int host = 0; host < fabric.spec.hosts; ++host)
    if (!held[index(host)]) hosts.push_back(host);
  return hosts;
}

/// Orders hosts by how many of their leaf come before them, then by leaf.
std::vector<int> dealt_over_leaves(const Fabric& fabric, const std::vector<int>& hosts) {
  struct Seat {
    int round, leaf, host;
  };
  std::map<int, int> seen;  // hosts by leaf so far
  std::vector<Seat> seats;
  seats.reserve(hosts.size());
  for (const int host : hosts) {
    const int leaf = leaf_group(fabric, host);
    seats.push_back({seen[leaf]++, leaf, host});
  }
  std::stable_sort(seats.begin(), seats.end(), [](const Seat& a, const Seat& b) {
    return a.round != b.round ? a.round < b.round : a.leaf < b.leaf;
  });
  std::vector<int> order;
  order.reserve(hosts.size());
  for (const Seat& seat : seats) order.push_back(seat.host);
  return order;
}

/// Fisher-Yates with SplitMix64: std::shuffle may differ between standard libraries.
void shuffle(std::vector<int>& hosts, std::uint64_t seed) {
  std::uint64_t state = mixed(seed);
  for (std::size_t left = hosts.size(); left > 1; --left) {
    state = mixed(state);
    const auto chosen = static_cast<std::size_t>((state >> 32U) * left >> 32U);
    std::swap(hosts[left - 1], hosts[chosen]);
  }
}

}  // namespace

int leaf_group(const Fabric& fabric, int host) {
  if (fabric.count(NodeKind::nic) == 0) return 0;
  const int leaf = leaf_of(fabric, host, 0);
  const auto* shape = std::get_if<ClosShape>(&fabric.spec.network);
  const bool units =
      shape != nullptr && shape->kind == FabricKind::rail_optimized && fabric.clos.tiers > 1;
  return units && !shape->rail_only ? leaf / fabric.spec.host.nics : leaf;
}

std::variant<std::vector<int>, Infeasible> place_ranks(const Fabric& fabric,
                                                       const PlacementSpec& spec) {
  FORETRAIN_REQUIRE(spec.ranks >= 1);
  const auto found = free_hosts(fabric, spec.occupied);
  if (const auto* refused = std::get_if<Infeasible>(&found)) return *refused;
  std::vector<int> hosts = std::get<std::vector<int>>(found);
  const int gpus = fabric.spec.host.gpus;
  const int needed = (spec.ranks + gpus - 1) / gpus;
  if (needed > static_cast<int>(hosts.size()))
    return Infeasible{"placement", "cluster.hosts",
                      std::to_string(spec.ranks) + " ranks need " + std::to_string(needed) +
                          " hosts, and " + std::to_string(hosts.size()) + " of " +
                          std::to_string(fabric.spec.hosts) + " are free",
                      "use fewer ranks or a larger fabric"};
  if (spec.kind == PlacementKind::spread) hosts = dealt_over_leaves(fabric, hosts);
  hosts.resize(index(needed));
  if (spec.kind == PlacementKind::scrambled) shuffle(hosts, spec.seed);

  std::vector<int> gpu_of(index(spec.ranks));
  for (int rank = 0; rank < spec.ranks; ++rank)
    gpu_of[index(rank)] = hosts[index(rank / gpus)] * gpus + rank % gpus;
  return gpu_of;
}

}  // namespace foretrain
