// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/collectives/collective_choice.hpp"
#include "models/kernels/kernel_band.hpp"

namespace foretrain {

/// Band of a collective that takes `time` alone on a healthy fabric, from the residuals of the
/// sweeps in calibration/measured/nccl_sweeps.csv: of the device within a host, of all fabrics
/// between hosts; wider (root of squares) where the device's or the fabric's figures are
/// extrapolated or from a datasheet, and for more hosts than any sweep has.
/// models/forecast/README.md, "Band".
[[nodiscard]] TimeBand collective_band(CollectiveOp op, const CommGroup& group, Bytes payload,
                                       Seconds time, const CollectivePath& path);

}  // namespace foretrain
