// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

enum class DurationKind { fixed, exponential, uniform, lognormal, gamma, empirical };
FORETRAIN_ENUM_NAMES(DurationKind, {DurationKind::fixed, "fixed"},
                     {DurationKind::exponential, "exponential"}, {DurationKind::uniform, "uniform"},
                     {DurationKind::lognormal, "lognormal"}, {DurationKind::gamma, "gamma"},
                     {DurationKind::empirical, "empirical"});

/// How long the jobs of a class run: a distribution by its mean and coefficient of variation
/// (standard deviation over mean), but for uniform and empirical, which say their values.
struct DurationLaw {
  DurationKind kind = DurationKind::fixed;
  Seconds typical{};              ///< mean of fixed, exponential, lognormal, gamma
  double variation = 0.0;         ///< coefficient of variation of lognormal and gamma
  Seconds least{};                ///< of uniform
  Seconds most{};                 ///< of uniform
  std::vector<Seconds> values{};  ///< of empirical: each as likely as the others

  [[nodiscard]] Seconds mean() const;
  /// Variance over squared mean. @pre mean() > 0
  [[nodiscard]] double squared_variation() const;
  /// The share of durations that are at most so long. @pre mean() > 0
  [[nodiscard]] double share_within(Seconds time) const;
};

}  // namespace foretrain
