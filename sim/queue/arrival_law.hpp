// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

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

}  // namespace foretrain
