// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/cases/kernel_case.hpp"
#include "calibration/fit/internal/fit_slot.hpp"
#include "models/inputs/profile.hpp"
#include "scenarios/catalog/catalog_machine.hpp"

namespace foretrain::collective_slots {

/// The constants of collectives that are fitted: lines within a host, hops and shares between
/// hosts.

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

namespace foretrain::kernel_slots {

/// The constants of kernels that are fitted, by kind of kernel: of a device's profile, or of
/// InferenceExtras, which are in none.

/// Of products in a 16-bit format; of quantised ones; what the power limit takes of long ones.
[[nodiscard]] std::vector<FitSlot> gemm_slots(Precision precision);
[[nodiscard]] std::vector<FitSlot> quantised_slots(Precision precision);
[[nodiscard]] std::vector<FitSlot> power_slots();
/// Whether a slot is of InferenceExtras.
[[nodiscard]] bool is_extra(const FitSlot& slot);
/// What benchmarks of quantised products spend on making their operands.
[[nodiscard]] std::vector<FitSlot> quantise_slots(Precision precision);
/// Rates of the libraries that an architecture's benchmarks ran, and what they share.
[[nodiscard]] std::vector<FitSlot> attention_slots(Architecture architecture);
[[nodiscard]] std::vector<FitSlot> both(std::vector<FitSlot> slots,
                                        const std::vector<FitSlot>& more);

}  // namespace foretrain::kernel_slots
