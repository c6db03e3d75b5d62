// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "models/inputs/cluster.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// A file grows with the square of the GPUs where it holds all routes: 128 GPUs are 6 MB.
inline constexpr int most_routed_gpus = 128;

/// A fabric as a platform file of SimGrid (DTD version 4.1): a host per GPU with the rate of its
/// device, and one link per direction of a cable with its datasheet rate and the latency of its
/// kind. Up to `most_routed_gpus` every way between two GPUs is written down as route() gives it
/// with that seed (routing "Full"), one per pair and none where GPUs cannot reach each other:
/// several connections of a pair do not spread. Larger fabrics have a router per switch and NIC and
/// the hops between neighbours, through which SimGrid finds its own shortest ways (routing
/// "Dijkstra"); parallel cables are then one link of their joint rate, since SimGrid takes one way
/// between two neighbours. Format: simgrid.org, "Platform description".
[[nodiscard]] std::string simgrid_platform(const Fabric& fabric, const Cluster& cluster,
                                           const std::string& name, std::uint64_t seed);

}  // namespace foretrain
