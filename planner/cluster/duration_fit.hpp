// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "sim/queue/duration_law.hpp"

namespace foretrain {

/// A distribution with the parameters that fit measured durations best.
struct DurationFit {
  DurationLaw law{};
  double aic = 0.0;  ///< Akaike's criterion, 2 k - 2 ln L of k parameters; densities per second
  double distance =
      0.0;  ///< of Kolmogorov and Smirnov: largest gap between the shares within a time
};

/// Every distribution of cluster files that has a likelihood and can have these durations, by AIC:
/// the best first. Maximum likelihood: of the Gamma's shape by Newton's method (Choi and Wette,
/// Technometrics 11(4), 1969), of the others in closed form. Durations that are all the same are
/// `fixed` alone, with an AIC of 0.
/// @param sorted seconds, upwards. @pre not empty, all above 0
[[nodiscard]] std::vector<DurationFit> fit_durations(const std::vector<double>& sorted);

/// The durations themselves, or `most` values that each stand for as many of them: the means of
/// equal parts, so that the mean stays what it is.
/// @pre as fit_durations(); most >= 1
[[nodiscard]] DurationLaw measured_durations(const std::vector<double>& sorted, std::size_t most);

/// Largest gap between the shares of the durations and of the law that are within a time; of more
/// than ten thousand durations at ten thousand of them, which is off by 0.0001 at most.
/// @pre as fit_durations()
[[nodiscard]] double distance_of(const DurationLaw& law, const std::vector<double>& sorted);

}  // namespace foretrain
