// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "topologies/fabrics/internal/fabric_builder.hpp"

namespace foretrain {
namespace {

/// Cables inside a group: all routers among each other, or in two levels.
void add_group(Fabric& fabric, const DragonflyShape& shape, int group) {
  const double rate = fabric.spec.host.nic.value();
  const int first = group * shape.routers;
  for (int a = 0; a < shape.routers; ++a)
    for (int b = shape.plus ? 0 : a + 1; b < shape.routers; ++b)
      add_cable(fabric, fabric.node(NodeKind::leaf, first + a),
                fabric.node(shape.plus ? NodeKind::spine : NodeKind::leaf, first + b), rate,
                LinkKind::leaf_spine);
}

}  // namespace

std::optional<Infeasible> refuse_dragonfly(const FabricSpec& spec, const DragonflyShape& shape) {
  const auto refuse = [](const char* key, const std::string& message, const std::string& remedy) {
    return Infeasible{"fabric-size", std::string("cluster.fabric.dragonfly") + key, message,
                      remedy};
  };
  if (shape.groups < 1 || shape.routers < 1 || shape.nics_per_router < 1 || shape.global_ports < 0)
    return refuse("", "a dragonfly needs at least one group, router and NIC per router",
                  "give every size");
  const long room = static_cast<long>(shape.groups) * shape.routers * shape.nics_per_router;
  const long nics = static_cast<long>(spec.hosts) * spec.host.nics;
  if (nics > room)
    return refuse(".groups",
                  "a dragonfly of " + std::to_string(shape.groups) + " groups with " +
                      std::to_string(shape.routers) + " routers has room for " +
                      std::to_string(room) + " NICs, and " + std::to_string(spec.hosts) +
                      " hosts bring " + std::to_string(nics),
                  "add groups or routers");
  if (shape.groups > 1 && cables_between_groups(shape) == 0)
    return refuse(".global_ports",
                  "the " + std::to_string(static_cast<long>(shape.routers) * shape.global_ports) +
                      " global ports of a group do not reach the other " +
                      std::to_string(shape.groups - 1) + " groups",
                  "use fewer groups or more global ports");
  return std::nullopt;
}

std::optional<Infeasible> refuse_torus(const FabricSpec& spec, const TorusShape& shape) {
  const auto refuse = [](const std::string& message, const std::string& remedy) {
    return Infeasible{"fabric-size", "cluster.fabric.torus.size", message, remedy};
  };
  if (shape.size.size() < 2 || shape.size.size() > 3)
    return refuse("a torus has two or three dimensions, not " + std::to_string(shape.size.size()),
                  "give two or three sizes");
  long routers = 1;
  for (const int size : shape.size) {
    if (size < 2) return refuse("a dimension of a torus has at least two hosts", "leave it out");
    routers *= size;
  }
  if (routers != spec.hosts)
    return refuse("a torus with " + std::to_string(routers) + " places does not hold " +
                      std::to_string(spec.hosts) + " hosts",
                  "the product of its sizes must be the hosts");
  return std::nullopt;
}

void add_dragonfly(Fabric& fabric, const DragonflyShape& shape) {
  const double rate = fabric.spec.host.nic.value();
  fabric.first_tier = fabric.links();
  for (int g = 0; g < shape.groups; ++g) add_group(fabric, shape, g);

  fabric.second_tier = fabric.links();
  const NodeKind ends = shape.plus ? NodeKind::spine : NodeKind::leaf;
  for (int g = 0; g < shape.groups; ++g)
    for (int peer = g + 1; peer < shape.groups; ++peer)
      for (int cable = 0; cable < cables_between_groups(shape); ++cable)
        add_cable(fabric, fabric.node(ends, gateway(shape, g, peer, cable)),
                  fabric.node(ends, gateway(shape, peer, g, cable)), rate, LinkKind::global);
}

void add_torus(Fabric& fabric, const TorusShape& shape) {
  fabric.first_tier = fabric.links();
  for (int router = 0; router < fabric.spec.hosts; ++router) {
    int stride = 1;
    for (const int size : shape.size) {
      const int place = router / stride % size;
      const int next = router + ((place + 1) % size - place) * stride;
      add_cable(fabric, fabric.node(NodeKind::leaf, router), fabric.node(NodeKind::leaf, next),
                shape.channel.value(), LinkKind::ring);
      stride *= size;
    }
  }
  fabric.second_tier = fabric.links();
}

}  // namespace foretrain
