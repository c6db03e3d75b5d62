// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/inputs/cluster.hpp"
#include "models/inputs/profile.hpp"
#include "sim/flows/flow_network.hpp"
#include "sim/flows/link_load.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// The links of a fabric, by LinkId, with what collectives reach on them: scale-up links the best
/// share of any protocol of the device, PCIe and network cables the measured share of their
/// catalog entry.
[[nodiscard]] FlowNetwork achievable_links(const Fabric& fabric, const Cluster& cluster,
                                           const DeviceProfile& device);

/// The fabric of a cluster for collectives. Several NICs beside one GPU are one of their joint
/// rate, cables above included: a library stripes every message over them.
[[nodiscard]] FabricSpec striped(FabricSpec spec);

/// What one activity asks of links when nothing slows it.
struct LinkDemand {
  std::span<const LinkLoad> loads;
  double rate = 0.0;  ///< bytes per second that a byte of its loads stands for
  /// Activities of one key run one after another, never at once.
  std::uint64_t key = 0;
};

/// The part of a network that can slow anybody.
struct SharedLinks {
  static constexpr std::uint32_t left_out = ~0U;

  FlowNetwork network;
  std::vector<std::uint32_t> place;  ///< by link of the whole: its id in `network`, or left_out
};

/// Leaves out links that all that may run at once cannot fill, and links that a fuller one with the
/// same users always speaks for. What is left shares rates among the activities as all links would.
/// @pre capacities are above zero
[[nodiscard]] SharedLinks shared_links(const std::vector<LinkDemand>& demands,
                                       const std::vector<double>& capacity);

}  // namespace foretrain
