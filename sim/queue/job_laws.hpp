// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

using PerSecond = Quantity<-1>;

/// More arrivals for a while, such as the weeks before a conference's deadline.
struct ArrivalPeak {
  Seconds from{};
  Seconds lasts{};
  Seconds every{};  ///< zero: once
  double factor = 1.0;

  [[nodiscard]] bool holds(Seconds time) const;
};

/// A job that is known one by one: of a list or of a trace.
struct ListedJob {
  Seconds submit{};
  std::optional<Seconds> duration{};   ///< absent: drawn from the class's law
  std::optional<Seconds> limit{};      ///< absent: by the class's law
  std::optional<int> hosts{};          ///< absent: drawn
  std::optional<int> team{};           ///< index of QueueModel::teams; absent: the class's
  std::optional<std::size_t> after{};  ///< place in the list of a job that has to end before
  Seconds think{};                     ///< from that end to the submission, where it is later
};

/// When jobs of a class are submitted. Exactly one of `rate`, `every` and `listed` is given.
struct ArrivalLaw {
  PerSecond rate{};                 ///< of a Poisson process, on average over days and weeks
  Seconds every{};                  ///< one job at 0 and after each such time
  std::vector<ListedJob> listed{};  ///< by time of submission
  std::vector<double> day{};        ///< 24 relative rates by hour; empty: even
  std::vector<double> week{};       ///< 7 relative rates by day, Monday first; empty: even
  std::vector<ArrivalPeak> peaks{};

  [[nodiscard]] bool is_poisson() const { return rate > PerSecond{}; }
  /// Of the Poisson process at a time after Monday 0:00. The shapes of day and week keep `rate` as
  /// the mean; peaks come on top.
  [[nodiscard]] PerSecond rate_at(Seconds time) const;
  /// No rate_at() is above it.
  [[nodiscard]] PerSecond highest_rate() const;
  /// Jobs over time in the long run, without peaks; of lists within `horizon`. @pre horizon > 0
  [[nodiscard]] PerSecond mean_rate(Seconds horizon) const;
};

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
