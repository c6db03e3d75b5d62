// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "models/inputs/cluster.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// A fabric as a platform file of SimGrid (DTD version 4.1): a host per GPU with the rate of its
/// device, a router per switch and NIC, one link per direction with its datasheet rate and the
/// latency of its kind, and the hops between neighbours, through which SimGrid finds its own
/// shortest ways (routing "Dijkstra"). Parallel cables are one link of their joint rate, since
/// SimGrid takes one way between two neighbours: ECMP and adaptive routes are not in the file.
/// Format: simgrid.org, "Platform description".
[[nodiscard]] std::string simgrid_platform(const Fabric& fabric, const Cluster& cluster,
                                           const std::string& name);

}  // namespace foretrain
