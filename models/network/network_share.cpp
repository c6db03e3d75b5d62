// SPDX-License-Identifier: Apache-2.0
#include "models/network/network_share.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

double tier_share(const Network& network, int span_hosts) {
  double share = 1.0;
  if (network.hosts_per_leaf > 0 && span_hosts > network.hosts_per_leaf)
    share /= std::max(1.0, network.oversubscription);
  if (network.hosts_per_pod > 0 && span_hosts > network.hosts_per_pod)
    share /= std::max(1.0, network.spine_oversubscription);
  return share;
}

/// A dragonfly seen from its NICs, which are numbered host by host, router by router.
struct Dragonfly {
  double host;    ///< NICs of a host
  double router;  ///< NICs of a router, p
  double group;   ///< NICs of a group
  double locals;  ///< cables over which a router's local traffic spreads: 1, with `plus` all a
  double cables;  ///< between two groups
  double routers;
  bool plus;
};

Dragonfly dragonfly_of(const Cluster& cluster) {
  const DragonflyShape& shape = cluster.network.dragonfly;
  FORETRAIN_REQUIRE(shape.groups >= 1 && shape.routers >= 1 && shape.nics_per_router >= 1);
  const int cables = shape.groups < 2 ? 1 : shape.routers * shape.global_ports / (shape.groups - 1);
  FORETRAIN_REQUIRE(cables >= 1);
  return {static_cast<double>(cluster.host.nics),
          static_cast<double>(shape.nics_per_router),
          static_cast<double>(shape.routers) * shape.nics_per_router,
          shape.plus ? static_cast<double>(shape.routers) : 1.0,
          static_cast<double>(cables),
          static_cast<double>(shape.routers),
          shape.plus};
}

/// NICs of one block of `size` whose partners, `shift` further on, lie in one same other block: of
/// the two blocks that they reach, the one that gets more.
double most_to_one_block(double shift, double size) {
  const double whole = std::floor(shift / size);
  const double rest = shift - whole * size;
  return whole > 0.0 ? std::max(size - rest, rest) : rest;
}

double dragonfly_shift_load(const Dragonfly& at, double hosts_apart) {
  const double shift = hosts_apart * at.host;
  const double global = most_to_one_block(shift, at.group) / at.cables;
  if (shift >= at.group) return global;
  // With `plus` all that leaves a router spreads over its group's spines, whoever it is for.
  const double local = at.plus ? std::min(shift, at.router) : most_to_one_block(shift, at.router);
  return std::max(global, local / at.locals);
}

/// Cable load per rate of every NIC, when each spreads what it sends over all NICs of the span.
double dragonfly_exchange_load(const Dragonfly& at, double span_hosts) {
  const double nics = span_hosts * at.host;
  if (nics <= at.router) return 0.0;
  if (nics <= at.group)
    return at.plus ? at.router * (1.0 - at.router / nics) / at.locals
                   : at.router * at.router / nics;
  const double groups = nics / at.group;
  const double global = at.group / (groups * at.cables);
  // Traffic to other groups takes a local cable on either side, that within the group one.
  const double local =
      at.plus ? at.router / at.locals : at.router * (2.0 * groups - 1.0) / (groups * at.routers);
  return std::max(global, local);
}

/// Cable load of one dimension, in hosts' rates, when each host spreads what it sends over all
/// hosts: half the mean distance of a ring (Dally and Towles, Principles and Practices of
/// Interconnection Networks, 2004, chapter 5); of a line, which is a ring used in part, its middle.
double ring_exchange_load(int used, int size) {
  const double n = used;
  if (used == size) return used % 2 == 0 ? n / 8.0 : (n * n - 1.0) / (8.0 * n);
  return used % 2 == 0 ? n / 4.0 : (n * n - 1.0) / (4.0 * n);
}

double torus_exchange_load(const TorusShape& torus, int span_hosts) {
  double load = 0.0;
  int rows = span_hosts;
  for (const int size : torus.size) {
    const int used = std::min(rows, size);
    load = std::max(load, ring_exchange_load(used, size));
    rows = (rows + size - 1) / size;
  }
  return load;
}

double torus_shift_load(const TorusShape& torus, int hosts_apart) {
  double load = 0.0;
  int left = hosts_apart;
  for (const int size : torus.size) {
    const int steps = left % size;
    load = std::max(load, static_cast<double>(std::min(steps, size - steps)));
    left /= size;
  }
  return load;
}

/// What a torus cable of that load, in hosts, leaves of the NICs of a host.
double channel_share(const Cluster& cluster, double load) {
  const double host = cluster.host.nics * cluster.network.nic_link.bandwidth.value();
  return std::min(1.0, cluster.network.torus.channel.value() / (load * host));
}

}  // namespace

double shift_share(const Cluster& cluster, int hosts_apart, int span_hosts) {
  FORETRAIN_REQUIRE(hosts_apart >= 1 && span_hosts >= 1);
  const Network& network = cluster.network;
  if (span_hosts == 1 || !network.contended) return 1.0;
  if (network.kind == FabricKind::dragonfly)
    return 1.0 / std::max(1.0, dragonfly_shift_load(dragonfly_of(cluster), hosts_apart));
  if (network.kind == FabricKind::torus)
    return channel_share(cluster, torus_shift_load(network.torus, hosts_apart));
  return tier_share(network, span_hosts);
}

double all_pairs_share(const Cluster& cluster, int span_hosts) {
  FORETRAIN_REQUIRE(span_hosts >= 1);
  const Network& network = cluster.network;
  if (span_hosts == 1 || !network.contended) return 1.0;
  // Loads count all that a host exchanges; a part of it stays inside the host and off its NICs.
  const double leaves = 1.0 - 1.0 / span_hosts;
  if (network.kind == FabricKind::dragonfly)
    return 1.0 / std::max(1.0, dragonfly_exchange_load(dragonfly_of(cluster), span_hosts) / leaves);
  if (network.kind == FabricKind::torus)
    return channel_share(cluster, torus_exchange_load(network.torus, span_hosts) / leaves);
  return tier_share(network, span_hosts);
}

Seconds path_latency(const Network& network, int span_hosts) {
  int levels = network.switch_levels;
  if (network.hosts_per_leaf > 0 && span_hosts <= network.hosts_per_leaf)
    levels = 1;
  else if (network.hosts_per_pod > 0 && span_hosts <= network.hosts_per_pod)
    levels = std::min(levels, 2);
  return network.path_latency * (static_cast<double>(levels) / network.switch_levels);
}

}  // namespace foretrain
