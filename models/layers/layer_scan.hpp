// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/base/quantity.hpp"
#include "models/inputs/job.hpp"
#include "models/layers/layer_operators.hpp"

namespace foretrain {

/// Of the dense 16-bit peak, what products inside scans reach: Triton kernels of small products
/// with exponentials around them. From what the authors of Mamba-2 print of an A100 (arXiv
/// 2405.21060 section 9.3); nobody measured them on the devices here: models/layers/README.md,
/// "State-space mixers".
inline constexpr double scan_share = 0.10;
/// Of their time, what is not known.
inline constexpr double scan_doubt = 0.5;

/// Of products inside scans: that share of the dense 16-bit peak, which is no more than Hopper's
/// per multiprocessor: newer devices run these kernels with the instructions of Hopper and before.
[[nodiscard]] FlopPerSecond scan_rate(const Device& device);

/// Of both passes of one layer, what its scan takes.
[[nodiscard]] Seconds scan_time(const Job& job, const LayerVariant& variant);

}  // namespace foretrain
