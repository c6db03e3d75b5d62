// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "calibration/fit/fitted_value.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

/// A constant of a cost model that benchmarks determine. Fitted as its logarithm.
struct NumericConstant {
  double start = 0.0;  ///< also its prior; above 0
  double width = 0.0;  ///< standard deviation of ln(value / start) before any measurement
  double low = 0.0;    ///< bounds
  double high = 0.0;
};

/// Residuals ln(predicted/measured) of every measurement with these values of the constants.
using LogResiduals = std::function<std::vector<double>(const std::vector<double>& values)>;

/// Constants at the minimum, rounded.
struct NumericFit {
  std::vector<double> values;
  std::vector<double> deviations;         ///< posterior standard deviations of ln(value)
  std::vector<bool> at_bound;             ///< wants to be where it may not
  std::vector<std::vector<double>> said;  ///< of every constant by every measurement
  bool converged = false;
};

/// Least squares on logarithms with a pseudo-Huber loss (internal/robust_fit.hpp); `weights` are
/// those of the measurements. The best of several starts; values come rounded to `digits`
/// significant digits, and more where their deviation asks for it. Deterministic.
[[nodiscard]] NumericFit numeric_fit(const std::vector<NumericConstant>& constants,
                                     const LogResiduals& residuals,
                                     const std::vector<double>& weights, int digits);

/// That many microseconds, to the last bit what "2.54 us" in a file reads as: a fit that goes on
/// from here ends where one does that reads the file.
[[nodiscard]] inline Seconds microseconds(double value) { return Seconds{value / 1e6}; }

/// Significant digits, `least` or more, at which rounding moves a value by a twentieth of its
/// deviation (of its logarithm) at most.
[[nodiscard]] int digits_for(double value, double deviation, int least);

/// To so many significant digits.
[[nodiscard]] double rounded(double value, int digits);

/// Of residuals ln(predicted/measured).
[[nodiscard]] FitErrors fit_errors(const std::vector<double>& log_residuals);

}  // namespace foretrain
