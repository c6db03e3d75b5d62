// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/fit/own_constants.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// A run of one's own: what it is, and how long a step of it took.
struct OwnRun {
  Job job;
  double measured = 0.0;  ///< seconds
};

/// What runs leave of the beliefs before them.
struct OwnPosterior {
  std::vector<double> values;      ///< of the constants, base units
  std::vector<double> covariance;  ///< of ln(constant), row after row, as the constants
  /// Standard deviation of ln(measured / forecast) that no constant explains: of repeated runs, and
  /// of what the model leaves out on this cluster. Of a plain run; of any: times
  /// own_noise_factor().
  double noise = 0.0;
};

/// What is believed of the noise of a plain run before any: a median, and a deviation of its
/// logarithm.
struct OwnNoise {
  double median = 0.04;
  double spread = 1.0;
  double tail = 4.0;  ///< degrees of freedom of Student's t: outliers count little
};

/// The posterior of the constants given runs: ln(measured) = ln(forecast) + noise, priors that are
/// normal in ln(constant), noise of Student's t distribution whose scale is unknown but for
/// own_noise_factor(), and the distance of this cluster from the shipped constants (one factor on
/// all widths) unknown as well; both are averaged over. Forecasts are those of step_seconds();
/// slopes are taken anew where each iteration arrives. Deterministic. @pre runs is not empty; every
/// job is legal and modelled
[[nodiscard]] OwnPosterior fit_own(const std::vector<OwnConstant>& constants,
                                   const std::vector<OwnRun>& runs, const OwnNoise& noise = {});

/// Forecasts (seconds) of every run by fits without it; from a dozen runs on without every twelfth,
/// in their order. @pre two runs
[[nodiscard]] std::vector<double> left_out_own(const std::vector<OwnConstant>& constants,
                                               const std::vector<OwnRun>& runs,
                                               const OwnNoise& noise = {});

/// Seconds of a job with these values of the constants.
[[nodiscard]] double seconds_with(const std::vector<OwnConstant>& constants,
                                  const std::vector<double>& values, const Job& job);

/// Slopes of ln(seconds) of a job in ln(constant) around these values.
[[nodiscard]] std::vector<double> slopes_at(const std::vector<OwnConstant>& constants,
                                            const std::vector<double>& values, const Job& job);

/// Covariance of two forecasts' logarithms by what is not known of the constants, from their
/// slopes.
[[nodiscard]] double shared_variance(const OwnPosterior& posterior, const std::vector<double>& one,
                                     const std::vector<double>& other);
/// Standard deviation of ln(constant). @pre index < posterior.values.size()
[[nodiscard]] double deviation_of(const OwnPosterior& posterior, std::size_t index);

/// What is believed without any own run.
[[nodiscard]] OwnPosterior belief_before(const std::vector<OwnConstant>& constants,
                                         const OwnNoise& noise = {});

}  // namespace foretrain
