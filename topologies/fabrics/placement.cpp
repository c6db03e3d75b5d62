// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/placement.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "topologies/fabrics/internal/fabric_builder.hpp"
#include "topologies/fabrics/internal/mixed.hpp"

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

/// Hosts of one scale-up domain that a job takes together.
using Segment = std::vector<int>;

/// Whole segments of the free hosts of each domain; what is left of a domain stays free, and so
/// does all of a domain where too few are.
std::vector<Segment> segments_of(const Fabric& fabric, const std::vector<int>& hosts, int size) {
  std::vector<Segment> segments;
  Segment next;
  for (const int host : hosts) {
    const int domain = host / fabric.spec.domain_hosts;
    if (!next.empty() && next.front() / fabric.spec.domain_hosts != domain) next.clear();
    next.push_back(host);
    if (static_cast<int>(next.size()) == size) segments.push_back(std::exchange(next, {}));
  }
  return segments;
}

/// Orders segments by how many of their leaf come before them, then by leaf.
std::vector<Segment> dealt_over_leaves(const Fabric& fabric, std::vector<Segment> segments) {
  struct Seat {
    int round, leaf;
    Segment segment;
  };
  std::map<int, int> seen;  // segments by leaf so far
  std::vector<Seat> seats;
  seats.reserve(segments.size());
  for (Segment& segment : segments) {
    const int leaf = leaf_group(fabric, segment.front());
    seats.push_back({seen[leaf]++, leaf, std::move(segment)});
  }
  std::ranges::stable_sort(seats, [](const Seat& a, const Seat& b) {
    return a.round != b.round ? a.round < b.round : a.leaf < b.leaf;
  });
  std::vector<Segment> order;
  order.reserve(seats.size());
  for (Seat& seat : seats) order.push_back(std::move(seat.segment));
  return order;
}

/// Fisher-Yates with SplitMix64: std::shuffle may differ between standard libraries.
void shuffle(std::vector<Segment>& segments, std::uint64_t seed) {
  std::uint64_t state = mixed(seed);
  for (std::size_t left = segments.size(); left > 1; --left) {
    state = mixed(state);
    const auto chosen = static_cast<std::size_t>((state >> 32U) * left >> 32U);
    std::swap(segments[left - 1], segments[chosen]);
  }
}

Infeasible too_few(const Fabric& fabric, int needed, int free, int segments,
                   const PlacementSpec& spec) {
  const std::string what = std::to_string(spec.ranks) + " ranks need " + std::to_string(needed) +
                           " hosts, and " + std::to_string(free) + " of " +
                           std::to_string(fabric.spec.hosts) + " are free";
  if (spec.segment == 1)
    return {"placement", "cluster.hosts", what, "use fewer ranks or a larger fabric"};
  return {"placement", "cluster.domain",
          what + ", " + std::to_string(segments) + " times " + std::to_string(spec.segment) +
              " of one scale-up domain",
          "use fewer GPUs of a domain, fewer ranks or a larger fabric"};
}

/// Hosts for a job, segment by segment; the last one may need fewer hosts than the others.
std::variant<std::vector<int>, Infeasible> take_segments(const Fabric& fabric,
                                                         const std::vector<int>& free, int needed,
                                                         const PlacementSpec& spec) {
  const int whole = needed / spec.segment;
  std::vector<Segment> segments = segments_of(fabric, free, spec.segment);
  const int offered = static_cast<int>(segments.size());
  const Infeasible refused = too_few(fabric, needed, static_cast<int>(free.size()), offered, spec);
  if (whole > offered) return refused;
  if (spec.kind == PlacementKind::spread) segments = dealt_over_leaves(fabric, std::move(segments));
  segments.resize(index(whole));
  if (spec.kind == PlacementKind::scrambled) shuffle(segments, spec.seed);
  if (const int rest = needed % spec.segment; rest > 0) {
    std::vector<bool> used(index(fabric.spec.hosts), false);
    for (const Segment& segment : segments)
      for (const int host : segment) used[index(host)] = true;
    std::vector<int> left;
    for (const int host : free)
      if (!used[index(host)]) left.push_back(host);
    std::vector<Segment> ends = segments_of(fabric, left, rest);
    if (ends.empty()) return refused;
    segments.push_back(std::move(ends.front()));
  }
  std::vector<int> hosts;
  for (const Segment& segment : segments) hosts.insert(hosts.end(), segment.begin(), segment.end());
  return hosts;
}

}  // namespace

int leaf_group(const Fabric& fabric, int host) {
  if (fabric.count(NodeKind::nic) == 0) return 0;
  const int leaf = leaf_of(fabric, host, 0);
  const auto* shape = std::get_if<ClosShape>(&fabric.spec.network);
  const bool units =
      shape != nullptr && shape->kind == FabricKind::rail_optimized && fabric.clos.tiers > 1;
  return units && !shape->rail_only ? leaf / (fabric.spec.host.nics / fabric.planes) : leaf;
}

std::variant<std::vector<int>, Infeasible> place_ranks(const Fabric& fabric,
                                                       const PlacementSpec& spec) {
  FORETRAIN_REQUIRE(spec.ranks >= 1);
  FORETRAIN_REQUIRE(1 <= spec.segment && spec.segment <= fabric.spec.domain_hosts);
  const auto found = free_hosts(fabric, spec.occupied);
  if (const auto* refused = std::get_if<Infeasible>(&found)) return *refused;
  const auto& free = std::get<std::vector<int>>(found);
  const int gpus = fabric.spec.host.gpus;
  const int needed = (spec.ranks + gpus - 1) / gpus;
  const auto taken = take_segments(fabric, free, needed, spec);
  if (const auto* refused = std::get_if<Infeasible>(&taken)) return *refused;
  const auto& hosts = std::get<std::vector<int>>(taken);

  std::vector<int> gpu_of(index(spec.ranks));
  for (int rank = 0; rank < spec.ranks; ++rank)
    gpu_of[index(rank)] = hosts[index(rank / gpus)] * gpus + rank % gpus;
  return gpu_of;
}

}  // namespace foretrain
