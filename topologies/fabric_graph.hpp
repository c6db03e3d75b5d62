// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <boost/graph/adjacency_list.hpp>
#include <vector>

#include "topologies/clos.hpp"

namespace foretrain {

enum class NodeKind { nic, leaf, spine, core };

struct FabricNode {
  NodeKind kind = NodeKind::nic;
  int index = 0;  ///< among the nodes of its kind; NICs count host by host
  int host = -1;  ///< of a NIC
  int rail = -1;  ///< of a NIC: its index within the host
};

/// Parallel cables between two nodes, each at the rate of ClosSpec::link.
struct CableBundle {
  int cables = 1;
};

using Fabric =
    boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, FabricNode, CableBundle>;
using FabricVertex = boost::graph_traits<Fabric>::vertex_descriptor;

/// Every NIC, switch and cable of a sized network. Vertex v is NIC v for v < hosts * nics_per_host.
/// @pre `network` is what clos_network says about `spec`.
[[nodiscard]] Fabric build_fabric(const ClosSpec& spec, const ClosNetwork& network);

/// Cables on a shortest path from `start` to every vertex; -1 where there is none.
[[nodiscard]] std::vector<int> hops_from(const Fabric& fabric, FabricVertex start);

/// Cables in use at a node.
[[nodiscard]] int ports_used(const Fabric& fabric, FabricVertex vertex);

/// Most cables' worth of traffic that can flow from all `sources` to all `sinks` at once, routed at
/// will (maximum flow). Times the link rate it is a bandwidth.
/// @pre both are non-empty, disjoint sets of NICs.
[[nodiscard]] long max_flow(const Fabric& fabric, const std::vector<FabricVertex>& sources,
                            const std::vector<FabricVertex>& sinks);

}  // namespace foretrain
