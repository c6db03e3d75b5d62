// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "calibration/records/measured_data.hpp"

namespace foretrain {

/// time = base_us + size / rate_gbs, as one protocol of a collective library takes it.
struct CurveLine {
  double base_us = 0.0;
  double rate_gbs = 0.0;  ///< of the algorithm bandwidth
};

/// A sweep's point that its own curve contradicts.
struct CurveOutlier {
  std::size_t record = 0;  ///< index into the sweep
  double log_error = 0.0;  ///< ln(curve / measured)
};

/// A sweep over sizes as the least of up to three lines: the form that 108 published sweeps follow
/// to 3.4 % (mean error of the median sweep).
struct SweepCurve {
  std::vector<CurveLine> lines;
  FitErrors errors;  ///< over all points, outliers included
  std::vector<CurveOutlier> outliers;

  /// @pre lines is not empty
  [[nodiscard]] double time_us(double size_bytes) const;
};

/// Fits the curve with a robust loss. Fewer than 6 points get fewer lines, fewer than 2 none. A
/// point further off than 25 %, and than six times the median error, is an outlier: the fit is
/// repeated without it. @pre every record has a time above zero
[[nodiscard]] SweepCurve fit_sweep_curve(const std::vector<SweepRecord>& sweep);

}  // namespace foretrain
