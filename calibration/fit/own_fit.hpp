// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Posterior standard deviations of ln(constant) that the shipped profiles state, by profile and
/// key.
using StatedDeviations = std::map<ProfileRef, std::map<std::string, double, std::less<>>>;

/// A constant of a profile that runs of one's own may move, and what is believed of it before them.
struct OwnConstant {
  ProfileRef profile;
  std::vector<std::string> keys;  ///< one number under each of them
  double shipped = 0.0;           ///< base units
  double width = 0.0;             ///< standard deviation of ln(own / shipped) before any own run
  double most = 0.0;              ///< largest legal value, base units

  /// "site/default lone_share".
  [[nodiscard]] std::string text() const;
};

/// Every constant of the jobs' stacks, sites and devices that is not zero, in the order of layers
/// and keys. Its width is what the shipped records leave open (`stated`) together with how far one
/// cluster differs from the next in it: widely where nobody measured its site, narrowly in what a
/// kernel takes (calibration/docs/own-runs.md).
[[nodiscard]] std::vector<OwnConstant> own_constants(const std::vector<const Job*>& jobs,
                                                     const StatedDeviations& stated);

/// A run of one's own: what it is, and how long a step of it took.
struct OwnRun {
  Job job;
  double measured = 0.0;  ///< seconds
};

/// How many times the error that is a run's own (no constant of its cluster or framework explains
/// it) is that of a dense run whose step is passes alone: at least 1. Runs with exposed exchanges
/// of gradients, waits for launches, context ranks and expert ranks scatter more within one source,
/// so they tell less of the others (calibration/docs/own-runs.md, "How much a run tells").
/// @pre the job is legal and modelled
[[nodiscard]] double own_noise_factor(const Job& job);

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
