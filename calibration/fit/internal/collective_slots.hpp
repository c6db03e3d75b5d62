// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/fit/internal/fit_slot.hpp"
#include "models/inputs/profile.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

/// The constants of collectives that are fitted: lines within a host, hops and shares between
/// hosts.
namespace foretrain::collective_slots {

/// Base, step and share of each protocol of one group of operations of a device's profile, and the
/// share of its own. @param name of the group in its file: "gather"
[[nodiscard]] std::vector<FitSlot> line_slots(const char* name);
/// Priors of the first nine slots, those of the lines: an all-reduce's rings are an all-gather's
/// and a reduce-scatter's. Where a switch adds faster, little else would say how fast the ring is.
void expect_like(const ProtocolLines& lines, std::vector<FitSlot>& slots);
/// The line of sums within the switch.
void add_switch(std::vector<FitSlot>& slots);
/// Of a fabric: hops and shares by protocol, and what exchanges and trees between switches add.
[[nodiscard]] std::vector<FitSlot> fabric_slots(const FabricPreset& preset);

}  // namespace foretrain::collective_slots
