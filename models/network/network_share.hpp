// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/cluster.hpp"

namespace foretrain {

/// Part of their NICs' rate that hosts get when all of them send at the same time, each to the host
/// `hosts_apart` further on: rings, and transfers between pipeline stages. Tiers of switches are
/// priced by the leaves and pods that a group of `span_hosts` reaches over; dragonfly and torus by
/// the busiest cable of minimal routes. Equations: models/network/README.md, "Networks".
/// 1 where the network is not `contended`.
/// @pre hosts_apart, span_hosts >= 1. Hosts are packed: placed by number.
[[nodiscard]] double shift_share(const Cluster& cluster, int hosts_apart, int span_hosts);

/// The same when every host sends equally to every other one of `span_hosts` in a row: all-to-all.
[[nodiscard]] double all_pairs_share(const Cluster& cluster, int span_hosts);

/// NIC to NIC over the longest minimal path in a group of `span_hosts`: one that stays below a
/// leaf, or a pod, climbs no higher. Networks without tiers: their longest path.
[[nodiscard]] Seconds path_latency(const Network& network, int span_hosts);

}  // namespace foretrain
