// SPDX-License-Identifier: Apache-2.0
#include "topologies/fabrics/clos.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include "models/base/require.hpp"
#include "topologies/fabrics/fabric.hpp"
#include "topologies/fabrics/internal/fabric_builder.hpp"

namespace foretrain {
namespace {

constexpr auto three_tiers_only = "three tiers are the most that is modelled; use fewer hosts";

int ceil_div(int value, int divisor) { return (value + divisor - 1) / divisor; }

/// Whole cables up for that many NICs below, so never fewer than the ratio asks for.
int uplinks_for(int nics, double oversubscription) {
  // The slack keeps 36 / 1.2 at 30: a quotient that is whole on paper must not be rounded up.
  return std::max(1, static_cast<int>(std::ceil(nics / oversubscription - 1e-9)));
}

/// The most NICs, a multiple of `step`, that one leaf takes beside its uplinks; 0 if none.
int leaf_capacity(int radix, double oversubscription, int step) {
  for (int nics = radix - radix % step; nics > 0; nics -= step)
    if (nics + uplinks_for(nics, oversubscription) <= radix) return nics;
  return 0;
}

/// The fewest switches above that share `cables` evenly, each taking at most `ports` from all
/// `sources` below. With as many switches as cables, every one takes one cable per source.
int switches_above(int sources, int cables, int ports) {
  for (int count = 1; count < cables; ++count)
    if (cables % count == 0 && sources * (cables / count) <= ports) return count;
  return cables;
}

Infeasible too_large(const ClosSpec& spec, const std::string& remedy) {
  const std::string kind{name_of(spec.kind)};
  return {"fabric-size", "cluster.fabric.kind",
          "a " + kind + " network of " + std::to_string(spec.switch_radix) +
              "-port switches cannot connect " + std::to_string(spec.hosts) + " hosts with " +
              std::to_string(spec.nics_per_host) + " NICs each at this oversubscription",
          remedy};
}

/// NICs are dealt to leaves in units that stay together: a host, one NIC of a rail, or, where a
/// host has more NICs than a leaf has room for, a single NIC.
struct Leaves {
  int groups = 0;  ///< leaves, or on rails sets of one leaf per rail
  int leaves_per_group = 1;
  int nics_per_leaf = 0;
};

std::optional<Leaves> deal_to_leaves(const ClosSpec& spec) {
  const bool rails = spec.kind == FabricKind::rail_optimized;
  int unit = rails ? 1 : spec.nics_per_host;
  int units = spec.hosts;
  int room = leaf_capacity(spec.switch_radix, spec.oversubscription, unit);
  if (room == 0 && !rails) {
    unit = 1;
    units = spec.hosts * spec.nics_per_host;
    room = leaf_capacity(spec.switch_radix, spec.oversubscription, unit);
  }
  if (room == 0) return std::nullopt;
  Leaves result;
  result.groups = ceil_div(units, room / unit);
  result.leaves_per_group = rails ? spec.nics_per_host : 1;
  result.nics_per_leaf = ceil_div(units, result.groups) * unit;
  return result;
}

/// Leaves in pods with their own spines, pods joined by cores.
bool add_pods(ClosNetwork& network, const Leaves& leaves, const ClosSpec& spec) {
  const int radix = spec.switch_radix;
  const int half = radix / 2;
  const int groups_per_pod = half / leaves.leaves_per_group;
  if (groups_per_pod == 0) return false;
  network.tiers = 3;
  network.pods = ceil_div(leaves.groups, groups_per_pod);
  if (network.pods > radix) return false;
  network.leaves_per_pod = ceil_div(leaves.groups, network.pods) * leaves.leaves_per_group;
  const int spines_per_pod = switches_above(network.leaves_per_pod, network.uplinks_per_leaf, half);
  network.spines = network.pods * spines_per_pod;
  network.uplinks_per_spine =
      uplinks_for(network.leaves_per_pod * (network.uplinks_per_leaf / spines_per_pod),
                  spec.spine_oversubscription);
  network.cores = spines_per_pod * switches_above(network.pods, network.uplinks_per_spine, radix);
  return true;
}

/// On the longest minimal path: local, global and local cable of a dragonfly, half of every ring of
/// a torus, and the two NICs' own.
double longest_cables(const Network& network) {
  if (network.kind == FabricKind::dragonfly)
    return network.dragonfly.groups > 1 ? 5.0 : (network.dragonfly.plus ? 4.0 : 3.0);
  int cables = 2;
  for (const int size : network.torus.size) cables += size / 2;
  return cables;
}

int levels_between_equal_nics(const ClosSpec& spec, const ClosNetwork& network) {
  if (spec.kind != FabricKind::rail_optimized || network.tiers == 1) return network.tiers;
  if (spec.hosts <= network.nics_per_leaf) return 1;
  const int hosts_per_pod = network.leaves_per_pod / spec.nics_per_host * network.nics_per_leaf;
  return network.tiers == 3 && spec.hosts <= hosts_per_pod ? 2 : network.tiers;
}

ClosNetwork finished(ClosNetwork network, const ClosSpec& spec) {
  network.switch_levels = levels_between_equal_nics(spec, network);
  if (network.tiers > 1)
    network.hosts_per_leaf = spec.kind == FabricKind::rail_optimized
                                 ? network.nics_per_leaf
                                 : std::max(1, network.nics_per_leaf / spec.nics_per_host);
  if (network.tiers > 2) {
    const int per_pod = network.leaves_per_pod * network.nics_per_leaf;
    network.hosts_per_pod = std::max(1, per_pod / spec.nics_per_host);
  }
  network.longest_hops = 2 * network.tiers;
  network.path_latency = 2.0 * network.switch_levels * spec.link.latency;
  if (network.tiers > 1)
    network.cross_leaf_share =
        std::min(1.0, static_cast<double>(network.uplinks_per_leaf) / network.nics_per_leaf);
  network.cross_pod_share = network.cross_leaf_share;
  if (network.tiers == 3) {
    const int spines_per_pod = network.spines / network.pods;
    const int cables = network.uplinks_per_leaf / spines_per_pod;  // of a leaf to one spine
    const double down = static_cast<double>(network.leaves_per_pod) * cables;
    network.cross_pod_share *= std::min(1.0, network.uplinks_per_spine / down);
  }
  const double nics_per_gpu = static_cast<double>(spec.nics_per_host) / spec.gpus_per_host;
  network.bisection_per_gpu = network.cross_pod_share * nics_per_gpu * spec.link.bandwidth;
  return network;
}

}  // namespace

std::variant<ClosNetwork, Infeasible> clos_network(const ClosSpec& spec) {
  FORETRAIN_REQUIRE(spec.hosts >= 1 && spec.nics_per_host >= 1 && spec.gpus_per_host >= 1);
  FORETRAIN_REQUIRE(spec.switch_radix >= 2 && spec.oversubscription >= 1.0);
  FORETRAIN_REQUIRE(spec.spine_oversubscription >= 1.0);
  if (spec.kind == FabricKind::dragonfly || spec.kind == FabricKind::torus ||
      spec.kind == FabricKind::irregular)
    return Infeasible{
        "fabric-kind", "cluster.fabric.kind",
        "a " + std::string(name_of(spec.kind)) + " does not consist of tiers of switches",
        "use rail-optimized, rail-only, fat-tree, leaf-spine or single-switch"};
  if (spec.kind == FabricKind::rail_only) {
    ClosSpec rail = spec;
    rail.kind = FabricKind::fat_tree;
    rail.nics_per_host = rail.gpus_per_host = 1;
    return clos_network(rail);
  }

  const auto wanted = static_cast<std::int64_t>(spec.hosts) * spec.nics_per_host;
  // Also keeps the arithmetic below within int: three tiers connect fewer than radix^3 NICs.
  const auto radix = static_cast<std::int64_t>(spec.switch_radix);
  if (wanted > std::min<std::int64_t>(radix * radix * radix, 1 << 30))
    return too_large(spec, three_tiers_only);
  const int nics = static_cast<int>(wanted);
  const int alone = spec.oversubscription > 1.0
                        ? leaf_capacity(spec.switch_radix, spec.oversubscription, 1)
                        : spec.switch_radix;
  ClosNetwork network;
  if (spec.kind == FabricKind::single_switch && nics > spec.switch_radix)
    return too_large(spec, "use leaf-spine, fat-tree or rail-optimized");
  if (spec.kind == FabricKind::single_switch || nics <= alone) {
    network.nics_per_leaf = nics;
    return finished(network, spec);
  }

  const auto leaves = deal_to_leaves(spec);
  if (!leaves) return too_large(spec, "lower the oversubscription");
  network.leaves = leaves->groups * leaves->leaves_per_group;
  network.nics_per_leaf = leaves->nics_per_leaf;
  network.uplinks_per_leaf = uplinks_for(network.nics_per_leaf, spec.oversubscription);
  if (network.leaves <= spec.switch_radix) {
    network.tiers = 2;
    network.leaves_per_pod = network.leaves;
    network.spines = switches_above(network.leaves, network.uplinks_per_leaf, spec.switch_radix);
    return finished(network, spec);
  }
  if (spec.kind == FabricKind::leaf_spine)
    return too_large(spec, "use fat-tree, which adds a third tier");
  if (!add_pods(network, *leaves, spec)) return too_large(spec, three_tiers_only);
  return finished(network, spec);
}

namespace {

/// What the closed form knows of a network without tiers: how far it is at most, and what the
/// busiest cable leaves of the NICs when hosts below other switches exchange.
std::optional<Infeasible> size_irregular(Cluster& cluster, int switch_radix) {
  Network& network = cluster.network;
  FORETRAIN_REQUIRE(network.irregular != nullptr && cluster.host.nics >= 1);
  const IrregularShape& shape = *network.irregular;
  const auto found = switch_graph(shape, cluster.host.nics);
  if (const auto* refused = std::get_if<Infeasible>(&found)) return *refused;
  const auto& graph = std::get<SwitchGraph>(found);
  const int hosts = static_cast<int>(shape.nics.size()) / cluster.host.nics;
  if (cluster.fabric_hosts() > hosts)
    return Infeasible{"fabric-size", "cluster.hosts",
                      "the irregular fabric joins " + std::to_string(hosts) + " hosts, not " +
                          std::to_string(cluster.fabric_hosts()),
                      "use " + std::to_string(hosts) + " hosts at most"};
  network.switch_radix = switch_radix;
  network.switch_levels = 1;
  network.oversubscription = std::max(1.0, busiest_cable(graph, shape, cluster.host.nics));
  network.hosts_per_leaf = hosts_below_same_switches(shape, cluster.host.nics);
  network.hosts_per_pod = 0;
  network.path_latency = longest_shortest_path(graph) * network.nic_link.latency;
  return std::nullopt;
}

}  // namespace

std::optional<Infeasible> size_network(Cluster& cluster, int switch_radix) {
  Network& network = cluster.network;
  if (network.kind == FabricKind::irregular) return size_irregular(cluster, switch_radix);
  if (network.kind == FabricKind::dragonfly || network.kind == FabricKind::torus) {
    const FabricSpec wanted = fabric_spec(cluster);
    const auto* dragonfly = std::get_if<DragonflyShape>(&wanted.network);
    if (auto refused = dragonfly ? refuse_dragonfly(wanted, *dragonfly)
                                 : refuse_torus(wanted, std::get<TorusShape>(wanted.network)))
      return refused;
    network.switch_radix = switch_radix;
    network.switch_levels = 1;
    network.hosts_per_leaf = network.hosts_per_pod = 0;
    network.path_latency = longest_cables(network) * network.nic_link.latency;
    return std::nullopt;
  }
  if (network.nic_ports > 1 && cluster.host.nics < cluster.host.gpus)
    return Infeasible{std::string(not_modelled_rule), "cluster.fabric.nic_ports",
                      "several ports of NICs that GPUs share are not modelled",
                      "leave it out: a NIC is then one cable of its whole rate"};
  const int joined = network.planes == PortPlanes::joined ? network.nic_ports : 1;
  const ClosSpec spec{network.kind,
                      cluster.fabric_hosts(),
                      cluster.host.nics * joined,
                      cluster.host.gpus,
                      switch_radix,
                      network.oversubscription,
                      network.nic_link,
                      network.spine_oversubscription};
  const auto result = clos_network(spec);
  if (const auto* refused = std::get_if<Infeasible>(&result)) return *refused;
  const auto& sized = std::get<ClosNetwork>(result);
  network.switch_radix = switch_radix;
  network.switch_levels = sized.switch_levels;
  network.hosts_per_leaf = sized.hosts_per_leaf;
  network.hosts_per_pod = sized.hosts_per_pod;
  network.path_latency = sized.path_latency;
  return std::nullopt;
}

}  // namespace foretrain
