// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Both directions of one cable; the link away from the GPUs gets the even number.
void add_cable(Fabric& fabric, NodeId below, NodeId above, double rate, LinkKind kind);

/// Leaf, or router, that a NIC is plugged into, counted over all planes.
[[nodiscard]] int leaf_of(const Fabric& fabric, int host, int nic);

[[nodiscard]] std::optional<Infeasible> refuse_dragonfly(const FabricSpec& spec,
                                                         const DragonflyShape& shape);
[[nodiscard]] std::optional<Infeasible> refuse_torus(const FabricSpec& spec,
                                                     const TorusShape& shape);
void add_dragonfly(Fabric& fabric, const DragonflyShape& shape);
void add_torus(Fabric& fabric, const TorusShape& shape);

/// Position of the pair a < b among all pairs of `count` things.
[[nodiscard]] constexpr int pair_index(int a, int b, int count) {
  return a * count - a * (a + 1) / 2 + (b - a - 1);
}

/// Cables between every two groups of a dragonfly.
[[nodiscard]] constexpr int cables_between_groups(const DragonflyShape& shape) {
  return shape.groups < 2 ? 0 : shape.routers * shape.global_ports / (shape.groups - 1);
}

/// Router (with `plus` spine) of `group` that holds global cable `cable` to group `peer`. The
/// cables to all groups are dealt round after round, so every router gets its share of each.
[[nodiscard]] constexpr int gateway(const DragonflyShape& shape, int group, int peer, int cable) {
  const int port = cable * (shape.groups - 1) + (peer < group ? peer : peer - 1);
  return group * shape.routers + port / shape.global_ports;
}

}  // namespace foretrain
