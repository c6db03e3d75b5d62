// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/cases/kernel_case.hpp"
#include "calibration/fit/profile_constant.hpp"
#include "calibration/records/measured_data.hpp"
#include "calibration/records/run_catalog.hpp"

namespace foretrain {

/// Kernel constants of the device profiles.
struct KernelFit {
  /// By profile. What has no measurements is not in it.
  std::vector<FittedValue> values;
  /// The catalog's profiles of these devices with the values.
  std::map<std::string, DeviceProfile> profiles;
  InferenceExtras extras;
  std::vector<FittedValue> extra_values;  ///< the same by name; of no profile
  std::vector<FitResiduals> residuals;
};

/// Fits matrix products (efficiency, ramp_k, tile_128, launch; the power limit's part) and fused
/// attention alone to measured kernels, of every device that names itself under family.kernels;
/// those that name it there are the same chip and get the same constants. Datasheets and the memory
/// efficiency come from the catalog; nothing else does, so that shipped constants are a function of
/// measurements.
[[nodiscard]] KernelFit fit_kernels(const std::vector<KernelRecord>& records,
                                    const RunCatalog& catalog);

}  // namespace foretrain
