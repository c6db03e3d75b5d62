// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/cases/kernel_case.hpp"
#include "calibration/fit/internal/fit_slot.hpp"

/// The constants of kernels that are fitted, by kind of kernel: of a device's profile, or of
/// InferenceExtras, which are in none.
namespace foretrain::kernel_slots {

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
