// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "topologies/fabrics/fabric.hpp"

namespace foretrain {

/// Cables of one kind; one is down when either of its directions is.
struct CableCount {
  LinkKind kind = LinkKind::nic;
  int cables = 0;
  int down = 0;
  BytesPerSecond rate;  ///< of the fastest
};
/// In the order of LinkKind, kinds without cables left out.
[[nodiscard]] std::vector<CableCount> count_cables(const Fabric& fabric, const LinkSet& down);

/// "25.6 TB/s" or "50 GB/s".
[[nodiscard]] std::string bandwidth_text(BytesPerSecond rate);

/// Pictures show a host as one node: drawn node h is host h, then come leaves, spines and cores,
/// then the NVSwitches of domains that join several hosts.
[[nodiscard]] int drawn_nodes(const Fabric& fabric);
/// The first of those NVSwitches; drawn_nodes() where there are none.
[[nodiscard]] int first_drawn_domain(const Fabric& fabric);

/// All cables between two drawn nodes.
struct Bundle {
  int below = 0;
  int above = 0;
  int cables = 0;
  int down = 0;
  BytesPerSecond rate;  ///< of one
  double use = 0.0;     ///< of the busiest direction of the busiest cable
};
/// Cables outside hosts, by drawn node below and above; the NVSwitch of a domain is below its
/// hosts.
/// @param use share of the rate by link; empty: not known
[[nodiscard]] std::vector<Bundle> bundles(const Fabric& fabric, const LinkSet& down,
                                          const std::vector<double>& use = {});

}  // namespace foretrain
