// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/provenance.hpp"
#include "models/base/quantity.hpp"
#include "models/inputs/profile.hpp"
#include "models/kernels/kernel_cost.hpp"

namespace foretrain {

/// A time with its P10 to P90.
struct TimeBand {
  Seconds low;
  Seconds high;
  Trust trust = Trust::measured;  ///< of the constants, and whether they were fitted in this range
};

/// Band of a matrix product that takes `time`: the residuals of the benchmarks of this device and
/// precision; wider (root of squares) where the profile is extrapolated or from the datasheet,
/// where no benchmark was fitted, and outside the sizes that were. models/forecast/README.md,
/// "Band".
[[nodiscard]] TimeBand gemm_band(const Gemm& gemm, Seconds time, const KernelDevice& on);

/// The same for fused attention alone.
[[nodiscard]] TimeBand attention_band(const AttentionWork& work, Seconds time,
                                      const KernelDevice& on);

/// The same for kernels that stream through memory.
[[nodiscard]] TimeBand streaming_band(Bytes traffic, Seconds time, const KernelDevice& on);

}  // namespace foretrain
