// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/queue/queue_run.hpp"

namespace foretrain {

/// A value with its confidence interval; without one where nothing is random, or where there are
/// less than two replications.
struct QueueEstimate {
  double value = 0.0;
  std::optional<double> low{};
  std::optional<double> high{};
};

/// Of the jobs of all replications together, in seconds. Percentiles lie between the two nearest
/// ranks.
struct QueueTimes {
  QueueEstimate mean{};
  QueueEstimate p50{};
  QueueEstimate p90{};
  QueueEstimate p99{};
};

struct ClassSummary {
  std::int64_t jobs = 0;  ///< counted, of all replications
  QueueTimes wait{};
  QueueTimes turnaround{};
  QueueEstimate bounded_slowdown{};
  std::int64_t killed = 0;
  std::int64_t unfinished = 0;
  std::int64_t rented = 0;
  std::vector<std::int64_t> sizes{};  ///< started with each of QueueClass::moldable
  std::int64_t scattered = 0;
  /// Share of jobs that met their deadline, of those that have one; absent where none has.
  std::optional<QueueEstimate> in_time{};
};

/// A queue over all replications. Host-seconds and counts that are not per class are means over
/// replications, between warm-up and horizon.
struct QueueSummary {
  int replications = 0;
  double level = 0.95;         ///< of the confidence intervals
  bool stopped = false;        ///< from outside: fewer replications than were wanted
  bool precise = true;         ///< false: the wanted precision would take more jobs than allowed
  double precision = 0.0;      ///< widest half interval of a class's mean wait, over that mean
  std::int64_t simulated = 0;  ///< jobs, uncounted ones included
  std::int64_t effort = 0;     ///< of all replications, as QueueSample::effort
  std::vector<ClassSummary> classes{};
  ClassSummary all{};         ///< jobs of all classes
  QueueEstimate allocated{};  ///< shares of the hosts
  QueueEstimate productive{};
  HostSeconds hosts{};
  std::vector<double> team_host_s{};
  std::vector<double> team_rented_s{};
  QueueEstimate waiting_jobs{};  ///< mean over time
  double longest_queue = 0.0;
  double failures = 0.0;
  double interrupted = 0.0;
  double preempted = 0.0;
  std::vector<QueueBin> bins{};       ///< mean
  std::vector<double> waiting_p90{};  ///< 90th percentile over replications of a bin's waiting jobs
};

struct QueueStudyOptions {
  /// Zero: as many as it takes until half the confidence interval of each class's mean wait is
  /// `precision` of it, within an effort (QueueSample::effort) of `most_effort`.
  int replications = 0;
  double precision = 0.02;
  std::int64_t most_effort = 250'000'000;
  int threads = 0;  ///< 0: as many as the machine has; the result is the same
  int bins = 120;
  const std::atomic<bool>* stop = nullptr;
};

/// Counted jobs of all replications whose times fit into memory (some 10 bytes each).
inline constexpr std::int64_t most_counted_jobs = 40'000'000;

/// Simulates independent replications; confidence intervals are Student's over their means (Law,
/// Simulation Modeling and Analysis, 2015, section 9.4), those of percentiles over theirs.
/// @return nothing where it was stopped before one replication ended
/// @throws TooLarge as simulate_queue(), and beyond most_counted_jobs
[[nodiscard]] std::optional<QueueSummary> study_queue(const QueueModel& model,
                                                      const QueueStudyOptions& options);

/// The value below which that share of the values lies, between the two nearest ranks; reorders
/// them. Zero without values.
[[nodiscard]] double share_below(std::vector<float>& values, double share);

}  // namespace foretrain
