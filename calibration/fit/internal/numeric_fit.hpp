// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
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

/// The same where one constant has changed: puts those residuals that it moves into `at`, which
/// holds them all as they were.
using MovedResiduals = std::function<void(const std::vector<double>& values, std::size_t constant,
                                          std::vector<double>& at)>;

struct NumericOptions {
  int digits = 3;         ///< significant ones of a value, more where its deviation asks for it
  double noise = 0.03;    ///< by which repeated measurements differ
  int starts = 16;        ///< places that the search begins at; the best end counts
  double side = 0.25;     ///< of a deviation: where residuals are taken for their slopes
  double settled = 0.01;  ///< of a deviation: the search ends where it would move by less
  int derivatives = 120;  ///< of one search at most
  /// Where few measurements hang on a constant; empty: all are computed again.
  MovedResiduals moved = {};
  /// Values and deviations of a fit close by, from which alone the search begins; empty: none.
  std::vector<double> near = {};
  std::vector<double> near_deviations = {};
};

/// Constants at the minimum, rounded.
struct NumericFit {
  std::vector<double> values;
  std::vector<double> deviations;         ///< posterior standard deviations of ln(value)
  std::vector<bool> at_bound;             ///< wants to be where it may not
  std::vector<std::vector<double>> said;  ///< of every constant by every measurement
  bool converged = false;
};

/// Least squares on logarithms with a pseudo-Huber loss (internal/robust_fit.hpp); `weights` are
/// those of the measurements. Values come rounded. Deterministic.
[[nodiscard]] NumericFit numeric_fit(const std::vector<NumericConstant>& constants,
                                     const LogResiduals& residuals,
                                     const std::vector<double>& weights,
                                     const NumericOptions& options);

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
