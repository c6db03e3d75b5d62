// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "calibration/imports/imported_log.hpp"
#include "calibration/records/run_catalog.hpp"

namespace foretrain {

/// What a profile is made of.
struct MeasuredFitRequest {
  std::string device;  ///< catalog device that was measured
  std::string fabric;  ///< preset between the hosts; empty: nothing between hosts is fitted
  /// One record of so many, by what it is of, stays out of the fit; 0: none does.
  int hold_out = 0;
};

/// A record that the fit leaves aside as wrong.
struct FitOutlier {
  std::string what;
  double error = 0.0;  ///< predicted / measured - 1
};

/// Constants of one device, its hosts' links and their network from measurements alone.
struct MeasuredFit {
  /// Values by "device/NAME", "fabric/NAME" and "site/": those that were measured, no others.
  std::vector<FittedValue> values;
  std::vector<FitResiduals> residuals;
  std::vector<FitOutlier> outliers;
  std::vector<std::string> verdict;  ///< what the measurements are worth, in sentences
  int held_out = 0;                  ///< records that were
};

/// Whether a record stays out of a fit that holds one of `every` out: a function of what was
/// measured, not of when.
[[nodiscard]] bool is_held_out(const KernelRecord& record, int every);
[[nodiscard]] bool is_held_out(const SweepRecord& record, int every);

/// Fits what the logs have enough records of. Records of other devices are the caller's mistake;
/// such logs are refused before. @pre the catalog has the device with a profile, and the fabric
[[nodiscard]] MeasuredFit fit_measured(const std::vector<ImportedLog>& logs,
                                       const MeasuredFitRequest& request,
                                       const RunCatalog& catalog);

}  // namespace foretrain
