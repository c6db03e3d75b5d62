// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/fit/fit_plan.hpp"
#include "calibration/records/measured_data.hpp"
#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {

/// Records of every kind that a device has.
struct MeasuredRecords {
  std::vector<KernelRecord> kernels;
  std::vector<SweepRecord> sweeps;
  std::vector<RunRecord> runs;
};

/// Forecasts of a device by what its relative and its datasheet tell.
struct HiddenDevice {
  std::string device;
  std::string relative;
  /// Devices whose records were left out of the fit as well: those that share its constants or are
  /// like it.
  std::vector<std::string> hidden_with;
  std::vector<RecordCheck>
      checks;  ///< of its kernels, collectives and steps; skipped ones included
};

/// Why the device cannot be hidden behind the relative; empty: it can.
[[nodiscard]] std::string hiding_fault(const std::string& device, const std::string& relative,
                                       const RunCatalog& catalog);

/// Fits every constant anew without the device's records, gives the device those of its relative in
/// proportion to the datasheets, and forecasts its records. Where the relative is the same chip
/// (`family`), its records stay; else every device that shares constants with the hidden one, or is
/// like such a device, is hidden as well.
/// @pre hiding_fault() is empty
[[nodiscard]] HiddenDevice hide_device(const std::string& device, const std::string& relative,
                                       const FitPlan& plan, const MeasuredRecords& records,
                                       const RunCatalog& catalog);

}  // namespace foretrain
