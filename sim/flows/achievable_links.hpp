// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/cluster.hpp"
#include "models/inputs/profile.hpp"
#include "sim/flows/flow_network.hpp"
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

}  // namespace foretrain
