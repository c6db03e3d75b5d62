// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "sim/queue/queue_model.hpp"

namespace foretrain {

/// One stretch of a job on hosts, from its start to its end or interruption.
struct ScheduledStretch {
  int job_class = 0;
  std::int64_t job = 0;  ///< in order of submission; the same for all stretches of a job
  Seconds submit{};
  Seconds start{};
  Seconds end{};
  int hosts = 0;
  int leaves = 0;     ///< that the hosts are on
  bool ends = false;  ///< the job is done or killed, not interrupted
};

/// What one replication saw of the counted jobs of a class: those that were submitted from the
/// end of the warm-up on and before the horizon. All of them are followed to their end, also past
/// the horizon, while others still arrive, so that long waits are not cut off.
struct ClassSample {
  std::vector<float> wait{};          ///< seconds from submission to the first start
  std::vector<float> turnaround{};    ///< seconds from submission to the end
  double bounded_slowdown = 0.0;      ///< sum of max(1, turnaround / max(time on hosts, 10 s))
  std::int64_t killed = 0;            ///< at their time limit
  std::int64_t in_time = 0;           ///< ended within the class's deadline
  std::int64_t unfinished = 0;        ///< could never start, or never ended
  std::int64_t rented = 0;            ///< went to rented hosts
  std::vector<std::int64_t> sizes{};  ///< started with each of QueueClass::moldable
  std::int64_t scattered = 0;         ///< first placed on more leaves than they need
};

/// Host-seconds between warm-up and horizon.
struct HostSeconds {
  double allocated = 0.0;  ///< to jobs; the sum of the next six
  double productive = 0.0;
  double sharing = 0.0;   ///< more than on as few leaves as possible
  double overhead = 0.0;  ///< of jobs by their own goodput: 1 - QueueClass::productive
  double lost = 0.0;      ///< since the last checkpoint, at interruptions
  double restart = 0.0;
  double killed = 0.0;  ///< all time of jobs that met their limit
  double down = 0.0;    ///< under repair
  double rented = 0.0;  ///< of jobs on rented hosts
};

/// Means over one of equal parts of the time from 0 to the horizon.
struct QueueBin {
  double waiting_jobs = 0.0;
  double waiting_hosts = 0.0;
  double allocated = 0.0;  ///< hosts
  double down = 0.0;       ///< hosts
};

/// One replication.
struct QueueSample {
  bool complete = false;  ///< false: stopped from outside
  std::vector<ClassSample> classes{};
  std::vector<double> team_host_s{};    ///< allocated, per team
  std::vector<double> team_rented_s{};  ///< host-seconds rented, per team
  HostSeconds hosts{};
  double waiting_job_s = 0.0;  ///< integral of waiting jobs between warm-up and horizon
  int longest_queue = 0;       ///< most waiting jobs at a time in that stretch
  /// What it took, in looks at a waiting job; an event counts as eight.
  std::int64_t effort = 0;
  std::int64_t simulated = 0;    ///< jobs, uncounted ones included
  std::int64_t failures = 0;     ///< of hosts, between warm-up and horizon
  std::int64_t interrupted = 0;  ///< jobs by failures, in that stretch
  std::int64_t preempted = 0;    ///< jobs, in that stretch
  std::vector<QueueBin> bins{};
  std::vector<ScheduledStretch> schedule{};  ///< by end; only where it was asked for
};

struct QueueRunOptions {
  int replication = 0;  ///< each has random numbers of its own, the same for any cluster and policy
  int bins = 120;
  bool schedule = false;
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end early
};

/// Waiting jobs at a time, and events of one replication, beyond which it is too large.
inline constexpr int most_waiting_jobs = 500'000;
inline constexpr std::int64_t most_queue_events = 200'000'000;

/// Simulates the queue event by event. At one instant, jobs that end come before jobs that arrive
/// and jobs that leave for rented hosts, and the queue is looked at once all of them have happened.
/// @throws TooLarge beyond the limits above
/// @pre no job of a class needs more hosts than the cluster, its team's quota or, within_leaf, a
///   leaf has
[[nodiscard]] QueueSample simulate_queue(const QueueModel& model, const QueueRunOptions& options);

}  // namespace foretrain
