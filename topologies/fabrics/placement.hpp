// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "models/inputs/simulation.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Where a job's ranks are to sit.
struct PlacementSpec {
  int ranks = 0;
  PlacementKind kind = PlacementKind::packed;
  std::uint64_t seed = 1;       ///< of `scrambled`; equal seeds give equal placements
  std::vector<int> occupied{};  ///< hosts that other jobs hold, in any order
  int segment = 1;              ///< hosts that have to share a scale-up domain
};

/// GPU of the fabric by rank. Ranks keep their order within a host, and hosts are whole: rank r
/// sits on GPU r mod gpus-per-host of the host that its group of ranks got. Hosts are taken in
/// segments, each the first free hosts of one scale-up domain, in ascending order (Slurm's
/// topology/block with --segment); where every host is its own domain, a segment is a host.
/// Segments go
/// - packed: by number (first fit);
/// - spread: the first free one below every leaf in turn, then the second below each, and so on.
///   On rails a leaf means the leaves of one scalable unit, in a dragonfly a router;
/// - scrambled: those of packed, in an order drawn by the seed.
///
/// @return the reason where ranks do not fit on the free hosts or an occupied host is not there
/// @pre ranks, segment >= 1; segment <= the fabric's domain_hosts
[[nodiscard]] std::variant<std::vector<int>, Infeasible> place_ranks(const Fabric& fabric,
                                                                     const PlacementSpec& spec);

/// First leaf or router above a host, or on rails its scalable unit: hosts with equal numbers reach
/// each other below one switch (per rail). 0 without a network.
[[nodiscard]] int leaf_group(const Fabric& fabric, int host);

}  // namespace foretrain
