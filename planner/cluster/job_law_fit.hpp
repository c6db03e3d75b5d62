// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/queue/job_laws.hpp"

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

/// Whether the hours of a day, or the days of a week, differ by more than they do from one day, or
/// week, to the next: the F test of one-way analysis of variance over square roots of counts
/// (Bartlett, J. R. Stat. Soc. Suppl. 3(1), 1936), which bursts of submissions do not mislead.
struct CycleTest {
  int periods = 0;           ///< whole days or weeks that were looked at
  double statistic = 0.0;    ///< F
  double probability = 1.0;  ///< of as much by chance
  double peak = 1.0;         ///< highest rate over the mean
  bool taken = false;        ///< into the law: the probability is below cycle_chance
};

/// Cycles that chance gives that often are not taken.
inline constexpr double cycle_chance = 0.001;
/// Fewer days, or weeks, show no cycle.
inline constexpr int fewest_days = 14;
inline constexpr int fewest_weeks = 4;

/// A Poisson process with the cycles that a log shows, and how well it describes the log.
struct ArrivalFit {
  ArrivalLaw law{};                ///< rate with day and week
  std::optional<CycleTest> day{};  ///< absent: the log is too short
  std::optional<CycleTest> week{};
  std::int64_t gaps = 0;
  /// Of Kolmogorov and Smirnov between gaps, in jobs that the law expects in them, and the
  /// exponential distribution; 0 without gaps.
  double distance = 0.0;
  /// Variance of jobs per day over what the law has: 1 of a Poisson process, more where jobs come
  /// in bursts. Absent: fewer than two days.
  std::optional<double> dispersion{};
  /// Rate in the second half of the log over that in the first, where chance, bursts allowed for,
  /// gives as much less often than cycle_chance; else absent.
  std::optional<double> growth{};
};

/// When a log begins and ends: its first and its last submission.
struct LogWindow {
  double from = 0.0;  ///< seconds after a Monday, 0:00
  double to = 0.0;

  [[nodiscard]] double seconds() const { return to - from; }
};

/// @param submits seconds, upwards. @pre not empty, inside the window, which is longer than 0 s and
///   no longer than some hundred years
[[nodiscard]] ArrivalFit fit_arrivals(const std::vector<double>& submits, const LogWindow& window);

}  // namespace foretrain
