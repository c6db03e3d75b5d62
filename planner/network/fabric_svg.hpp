// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/network/fabric_text.hpp"

namespace foretrain {

/// A picture of the tiers: hosts below, in frames with the NVSwitch of their domain where one joins
/// several, then leaves, spines, cores. Where a tier has more nodes than fit, neighbours share a
/// box that says how many. Lines join boxes with cables between them; lines and boxes that lost
/// something are red. After a played step lines are coloured by the use of their busiest cable, and
/// the busiest links are named.
[[nodiscard]] std::string fabric_svg(const FabricReport& report);

/// Of every line of that picture, in its order, the use of its busiest cable. @param use by LinkId
/// @pre nothing is down
[[nodiscard]] std::vector<double> line_uses(const Fabric& fabric, const std::vector<double>& use);

}  // namespace foretrain
