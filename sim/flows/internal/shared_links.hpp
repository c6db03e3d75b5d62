// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "sim/flows/flow_network.hpp"

namespace foretrain {

/// What one activity asks of links when nothing slows it.
struct LinkDemand {
  struct Rate {
    std::uint32_t link = 0;
    double rate = 0.0;  ///< bytes per second
  };
  std::vector<Rate> rates;
  /// Activities of one key run one after another, never at once.
  std::uint64_t key = 0;
};

/// The part of a network that can slow anybody.
struct SharedLinks {
  FlowNetwork network;
  std::vector<std::vector<LinkDemand::Rate>> routes;  ///< by activity, on links of `network`
};

/// Leaves out links that all that may run at once cannot fill, and links that a fuller one with the
/// same users always speaks for. What is left shares rates among the activities as all links would.
/// @pre capacities are above zero
[[nodiscard]] SharedLinks shared_links(const std::vector<LinkDemand>& demands,
                                       const std::vector<double>& capacity);

}  // namespace foretrain
