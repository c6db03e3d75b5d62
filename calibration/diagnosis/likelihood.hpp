// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// What a log measured of a run, beside signs.
struct MeasuredRun {
  double step = 0.0;
  std::map<LogSection, LoggedSection> sections;
  std::optional<double> rank_gap;
  std::optional<double> memory;  ///< bytes
  bool reserved = false;         ///< they are the allocator's
};

/// How far measurements scatter about forecasts that are right: a standard deviation of ln(step) on
/// either side, from the forecast's own band.
struct ForecastError {
  double below = 0.08;
  double above = 0.08;
};
[[nodiscard]] ForecastError forecast_error(const StepForecast& step);

/// One comparison: how likely what was measured is.
struct ComparedQuantity {
  std::string key;   ///< "step", "backward passes"
  std::string what;  ///< "step 9.80 s, forecast 8.10 s"
  double ln = 0.0;   ///< of its density
};

/// Compares a measured run with a forecast, quantity by quantity: always the same quantities in the
/// same order for the same measurement. Where a log times the passes, their sum, their ratio and
/// the rest of the step take the place of the step. Densities have heavy tails (Student's t with
/// four degrees of freedom).
[[nodiscard]] std::vector<ComparedQuantity> compare_run(const MeasuredRun& measured,
                                                        const ExpectedRun& expected,
                                                        const ForecastError& error);

/// The sum of ln of its densities, without words.
[[nodiscard]] double ln_likelihood(const MeasuredRun& measured, const ExpectedRun& expected,
                                   const ForecastError& error);

/// The same of a run that nothing explains: every quantity is as forecast or, as likely, anywhere
/// within wide limits.
[[nodiscard]] double ln_unexplained(const ComparedQuantity& comparison);

}  // namespace foretrain
