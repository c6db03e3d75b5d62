// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "calibration/records/measured_data.hpp"
#include "calibration/records/run_catalog.hpp"

namespace foretrain {

/// Constants of collectives alone: cost lines of scale-up links (device profiles) and of fabrics.
struct CollectiveFit {
  std::vector<FittedValue> values;
  std::vector<FitResiduals> residuals;
};

/// Fits the protocols' lines within a host per device, then hops and shares per fabric, to size
/// sweeps. Datasheets, latencies and rates of links come from the catalog; nothing else does.
[[nodiscard]] CollectiveFit fit_collectives(const std::vector<SweepRecord>& records,
                                            const RunCatalog& catalog);

/// Lines of one device's links from its own sweeps within a host alone; groups of operations with
/// fewer than 8 points are left out. @pre the catalog has a profile of it
[[nodiscard]] CollectiveFit fit_device_collectives(const std::string& device,
                                                   const std::vector<SweepRecord>& records,
                                                   const RunCatalog& catalog);
/// Hops and shares of one fabric from the sweeps over it alone; nothing where there are none.
/// @pre the catalog has the fabric, and a profile of every device with a sweep
[[nodiscard]] CollectiveFit fit_fabric_collectives(const std::string& fabric,
                                                   const std::vector<SweepRecord>& records,
                                                   const RunCatalog& catalog);

/// The catalog with the values of a fit. @pre it has the profiles and fabrics they are of
[[nodiscard]] RunCatalog with_collectives(RunCatalog catalog,
                                          const std::vector<FittedValue>& values);

/// ln(predicted/measured) of a point whose whole sweep was left out of the fit.
struct LeftOutPoint {
  std::string sweep;
  double size_bytes = 0.0;
  bool between_hosts = false;
  double log_error = 0.0;
};

/// Refits without each sweep that shares its scale-up links or fabric with others.
[[nodiscard]] std::vector<LeftOutPoint> leave_one_sweep_out(const std::vector<SweepRecord>& records,
                                                            const RunCatalog& catalog);

}  // namespace foretrain
