// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/network/fabric_text.hpp"
#include "planner/scene/scene.hpp"

namespace foretrain {

/// The tiers of a fabric: hosts below, in frames with the NVSwitch of their domain where one joins
/// several, then leaves, spines, cores. Where a tier has more nodes than fit, neighbours share a
/// box that says how many. Lines join boxes with cables between them, as wide as what these carry;
/// lines and boxes that lost something are in the colour of errors. After a played step lines are
/// as hot as their busiest cable is used.
[[nodiscard]] Scene fabric_chart(const FabricReport& report, const SceneSpace& space);
/// As large as its tiers need.
[[nodiscard]] std::string fabric_svg(const FabricReport& report);
/// The same as a scene, as large as that file.
[[nodiscard]] Scene fabric_sheet(const FabricReport& report);
/// A row per line.
[[nodiscard]] std::string fabric_csv(const FabricReport& report);

/// Of every line of that picture, in its order, the use of its busiest cable. @param use by LinkId
/// @pre nothing is down
[[nodiscard]] std::vector<double> line_uses(const Fabric& fabric, const std::vector<double>& use);

}  // namespace foretrain
