// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/cases/kernel_case.hpp"
#include "calibration/fit/internal/numeric_fit.hpp"
#include "models/inputs/profile.hpp"

/// The constants of kernels that are fitted, by kind of kernel.
namespace foretrain::kernel_slots {

/// A fit's constants: where each goes in a profile, and how its file writes it.
struct Slot {
  std::string key;
  std::string unit;
  double scale;  ///< of the unit in base units
  NumericConstant constant;
  std::function<void(DeviceProfile&, InferenceExtras&, double)> set;
  bool extra = false;  ///< of InferenceExtras, in no profile
};

/// Of products in a 16-bit format; of quantised ones; what the power limit takes of long ones.
[[nodiscard]] std::vector<Slot> gemm_slots(Precision precision);
[[nodiscard]] std::vector<Slot> quantised_slots(Precision precision);
[[nodiscard]] std::vector<Slot> power_slots();
/// What benchmarks of quantised products spend on making their operands.
[[nodiscard]] std::vector<Slot> quantise_slots(Precision precision);
/// Rates of the libraries that an architecture's benchmarks ran, and what they share.
[[nodiscard]] std::vector<Slot> attention_slots(Architecture architecture);
[[nodiscard]] std::vector<Slot> both(std::vector<Slot> slots, const std::vector<Slot>& more);

}  // namespace foretrain::kernel_slots
