// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/internal/numeric_fit.hpp"
#include "models/inputs/profile.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

/// The constants of collectives that are fitted: lines within a host, hops and shares between
/// hosts.
namespace foretrain::collective_slots {

/// A constant by its key in a file, found in what a fit moves.
struct LineSlot {
  std::string key;
  bool time;
  NumericConstant constant;
  std::function<void(CollectiveProtocols&, double)> set;
};

/// Base, step and share of each protocol of one group of operations, and the share of its own.
void add_lines(const char* name, ProtocolLines CollectiveProtocols::*lines,
               double CollectiveProtocols::*own, std::vector<LineSlot>& slots);
/// Priors of the first nine slots, those of the lines: an all-reduce's rings are an all-gather's
/// and a reduce-scatter's. Where a switch adds faster, little else would say how fast the ring is.
void expect_like(const ProtocolLines& lines, std::vector<LineSlot>& slots);
/// The line of sums within the switch.
void add_switch(std::vector<LineSlot>& slots);

/// A constant of a fabric by its key in a file.
struct FabricSlot {
  std::string key;
  bool time;
  NumericConstant constant;
  std::function<void(FabricProtocols&, double)> set;
};

/// Hops and shares by protocol, and what exchanges and trees between switches add.
[[nodiscard]] std::vector<FabricSlot> fabric_slots(const FabricPreset& preset);

}  // namespace foretrain::collective_slots
