// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "calibration/fit/internal/fit_slot.hpp"
#include "calibration/fit/measured_fit.hpp"

namespace foretrain {

/// One group of measurements of one kind.
struct MeasuredGroup {
  std::string profile;  ///< "device/h100-sxm5-80gb"
  std::string what;     ///< "gemm bf16"
  std::vector<FitSlot> slots;
  std::function<void(const FitSlot&, double)> set;  ///< in the profile that is fitted
  std::function<std::vector<double>()> log_errors;  ///< of all its records, with what is set
  std::vector<std::string> names;                   ///< of those records
};

/// Fits a group: a robust fit, then another without the records that it is far off, at most one of
/// ten. Leaves its constants set. Adds values, residuals of all records and outliers to `fit`.
void fit_group(const MeasuredGroup& group, MeasuredFit& fit);

/// Products, attention, streaming and clocks of one device.
void fit_measured_kernels(const std::vector<KernelRecord>& records,
                          const MeasuredFitRequest& request, const RunCatalog& catalog,
                          MeasuredFit& fit);

/// Collectives within and between hosts. @return the records that were used
void fit_measured_collectives(const std::vector<SweepRecord>& records,
                              const MeasuredFitRequest& request, const RunCatalog& catalog,
                              MeasuredFit& fit);

/// What the logs and the fit are worth.
[[nodiscard]] std::vector<std::string> measured_verdict(const std::vector<ImportedLog>& logs,
                                                        const MeasuredFitRequest& request,
                                                        const MeasuredFit& fit);

}  // namespace foretrain
