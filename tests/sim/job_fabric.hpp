// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>

#include <utility>
#include <variant>

#include "models/inputs/job.hpp"
#include "topologies/fabrics/fabric.hpp"

namespace foretrain::test {

/// The fabric of a job, with PCIe that never limits; a switch as large as it takes where tiers are
/// not the point.
inline Fabric fabric_for(const Job& job, int radix = 64) {
  Cluster cluster = job.cluster;
  cluster.network.switch_radix = radix;
  FabricSpec spec = fabric_spec(cluster);
  spec.host.pcie = 1.0 * TBps;
  auto built = build_fabric(spec);
  if (const auto* refused = std::get_if<Infeasible>(&built)) FAIL(refused->message);
  return std::get<Fabric>(std::move(built));
}

}  // namespace foretrain::test
