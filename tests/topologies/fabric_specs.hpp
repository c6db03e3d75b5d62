// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// NVSwitch hosts with 450 GB/s per GPU, PCIe 5, and 400 Gbit/s NICs: a DGX H100 where gpus = nics
/// = 8.
inline HostShape nvswitch_host(int gpus, int nics) {
  return {gpus, ScaleUpKind::nvswitch, 450 * GBps, 64 * GBps, nics, 400 * Gbps, {}};
}

inline FabricSpec clos_fabric(FabricKind kind, int hosts, int nics, int radix, double ratio = 1.0) {
  return {hosts, nvswitch_host(nics, nics), ClosShape{kind, radix, ratio, 1.0, false}};
}

/// One separate network per rail.
inline FabricSpec rail_only_fabric(int hosts, int nics, int radix) {
  return {hosts, nvswitch_host(nics, nics), ClosShape{FabricKind::fat_tree, radix, 1.0, 1.0, true}};
}

/// One NIC per host; a full dragonfly with hosts = groups * routers * nics_per_router.
inline FabricSpec dragonfly_fabric(int groups, int routers, int nics_per_router, int global_ports,
                                   bool plus = false) {
  return {groups * routers * nics_per_router, nvswitch_host(1, 1),
          DragonflyShape{groups, routers, nics_per_router, global_ports, plus}};
}

inline FabricSpec torus_fabric(const std::vector<int>& size) {
  int hosts = 1;
  for (const int side : size) hosts *= side;
  return {hosts, nvswitch_host(4, 2), TorusShape{size, 200 * Gbps}};
}

inline Fabric built(const FabricSpec& spec) { return std::get<Fabric>(build_fabric(spec)); }

inline FabricSpec irregular_fabric(const HostShape& host, IrregularShape shape) {
  return {static_cast<int>(shape.nics.size()) / host.nics, host,
          std::make_shared<const IrregularShape>(std::move(shape))};
}

/// A network written down cable by cable, without one of its switches (by number from the leaves
/// on) if any.
inline FabricSpec cable_by_cable(const FabricSpec& spec, int lost = -1) {
  const Fabric fabric = built(spec);
  const NodeId first = fabric.node(NodeKind::leaf, 0);
  IrregularShape shape;
  std::map<std::pair<int, int>, int> cables;
  for (LinkId link = fabric.first_nic_link; link < fabric.links(); link += 2) {
    const int below = fabric.from[static_cast<std::size_t>(link)] - first;
    const int above = fabric.to[static_cast<std::size_t>(link)] - first;
    if (below < 0)
      shape.nics.push_back(above);
    else if (below != lost && above != lost)
      ++cables[std::minmax(below, above)];
  }
  for (const auto& [ends, count] : cables) shape.cables.push_back({ends.first, ends.second, count});
  return irregular_fabric(spec.host, shape);
}

/// Five switches in a ring with two chords, two hosts of two NICs below each.
inline FabricSpec switch_mesh() {
  IrregularShape shape;
  for (int host = 0; host < 10; ++host) shape.nics.insert(shape.nics.end(), 2, host / 2);
  shape.cables = {{0, 1, 2}, {1, 2, 2}, {2, 3, 1}, {3, 4, 2}, {4, 0, 1}, {0, 2, 1}, {1, 4, 1}};
  return irregular_fabric(nvswitch_host(2, 2), shape);
}

inline Infeasible refused(const FabricSpec& spec) {
  return std::get<Infeasible>(build_fabric(spec));
}

inline LinkSet down_in(const Fabric& fabric, const std::vector<std::string>& names) {
  return std::get<LinkSet>(failed_links(fabric, names));
}

/// NICs of `ports` ports, each a cable of 400 Gbit/s to a leaf of its own.
inline FabricSpec ported_fabric(int hosts, int nics, int ports, int radix, bool joined) {
  FabricSpec spec = clos_fabric(FabricKind::rail_optimized, hosts, nics, radix);
  spec.host.nics *= ports;
  spec.host.ports = ports;
  std::get<ClosShape>(spec.network).joined_ports = joined;
  return spec;
}

/// One of every kind and every shape of host, small enough to try all pairs of GPUs.
struct NamedFabric {
  std::string name;
  FabricSpec spec;
};
inline std::vector<NamedFabric> every_kind() {
  FabricSpec two_level_ratio = clos_fabric(FabricKind::fat_tree, 32, 2, 8, 2.0);
  std::get<ClosShape>(two_level_ratio.network).spine_oversubscription = 2.0;
  FabricSpec shared = clos_fabric(FabricKind::leaf_spine, 8, 2, 8);
  shared.host.gpus = 8;
  FabricSpec many_nics = clos_fabric(FabricKind::rail_optimized, 8, 8, 16);
  many_nics.host.gpus = 2;
  FabricSpec mesh = clos_fabric(FabricKind::fat_tree, 4, 4, 8);
  mesh.host = {8, ScaleUpKind::nvlink_mesh, 150 * GBps, 16 * GBps, 4, 100 * Gbps, dgx1_pairs()};
  FabricSpec pcie = clos_fabric(FabricKind::leaf_spine, 8, 1, 4);
  pcie.host = {4, ScaleUpKind::pcie, 32 * GBps, 32 * GBps, 1, 25 * Gbps, {}};
  FabricSpec racks = clos_fabric(FabricKind::rail_optimized, 14, 4, 8);
  racks.domain_hosts = 4;  // the last rack has two trays
  return {{"single switch", clos_fabric(FabricKind::single_switch, 4, 2, 8)},
          {"leaf-spine", clos_fabric(FabricKind::leaf_spine, 16, 2, 8)},
          {"fat-tree, three tiers", clos_fabric(FabricKind::fat_tree, 54, 1, 6)},
          {"fat-tree, two oversubscriptions", two_level_ratio},
          {"rails", clos_fabric(FabricKind::rail_optimized, 16, 4, 8)},
          {"rails, three tiers", clos_fabric(FabricKind::rail_optimized, 32, 4, 8)},
          {"rail-only", rail_only_fabric(12, 4, 8)},
          {"shared NICs", shared},
          {"several NICs per GPU", many_nics},
          {"DGX-1 mesh", mesh},
          {"PCIe and Ethernet", pcie},
          {"dragonfly", dragonfly_fabric(9, 4, 2, 2)},
          {"dragonfly+", dragonfly_fabric(5, 4, 2, 1, true)},
          {"2D torus", torus_fabric({5, 4})},
          {"3D torus", torus_fabric({4, 3, 2})},
          {"fat-tree that lost a spine",
           cable_by_cable(clos_fabric(FabricKind::fat_tree, 16, 2, 8), 9)},
          {"rails that lost a spine",
           cable_by_cable(clos_fabric(FabricKind::rail_optimized, 16, 4, 8), 17)},
          {"mesh of switches", switch_mesh()},
          {"racks", racks},
          {"dual plane", ported_fabric(16, 2, 2, 8, false)},
          {"dual ToR", ported_fabric(16, 2, 2, 8, true)},
          {"one host", {1, nvswitch_host(8, 0), std::monostate{}}}};
}

}  // namespace foretrain
