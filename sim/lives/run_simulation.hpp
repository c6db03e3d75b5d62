// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/prediction.hpp"
#include "models/run/goodput.hpp"

namespace foretrain {

enum class StopKind : std::uint8_t { interruption, planned, slow_member, preemption, start };
FORETRAIN_ENUM_NAMES(StopKind, {StopKind::interruption, "interruption"},
                     {StopKind::planned, "planned stop"},
                     {StopKind::slow_member, "straggler replaced"},
                     {StopKind::preemption, "preemption"}, {StopKind::start, "queue and start"});

/// A stretch of time without steps.
struct RunStop {
  StopKind kind = StopKind::interruption;  ///< what began it
  Seconds from;
  Seconds to;
  Seconds lost;           ///< steps that are done again, as time at full speed
  int interruptions = 0;  ///< that struck, those during recovery included
};

/// A stretch of time with a slow member, or with a part out that the job runs on without.
struct SlowSpell {
  Seconds from;
  Seconds to;
};

/// Events that one simulated run may have: interruptions, stops, recoveries, stragglers, repairs.
inline constexpr std::int64_t most_run_events = 200'000;

/// A simulated run of the job.
struct RunTrial {
  bool complete = true;  ///< false: it has more than most_run_events, and is known up to there
  RunSplit split;        ///< sums to the duration; infinite where it never ends; no part < 0
  double interruptions = 0.0;  ///< unannounced
  double checkpoints = 0.0;
  std::vector<RunStop> stops;   ///< in order; empty unless recorded
  std::vector<SlowSpell> slow;  ///< in order of their ends; may overlap
};

/// Simulates the job event by event: interruptions, checkpoints that become safe late, recovery
/// that is itself interrupted, repairs and spares, stragglers, announced stops, preemption. The
/// same seed gives the same run. @pre ideal, every > 0; lag <= every
[[nodiscard]] RunTrial simulate_run(const RunModel& model, std::uint64_t seed, bool record = false);

struct RunSpreadOptions {
  int trials = 200;
  int threads = 0;  ///< 0: as many as the machine has; the result is the same
  std::uint64_t seed = 1;
  /// 10th and 90th percentile of the step time over its forecast: how wrong that may be is drawn
  /// once per trial.
  double step_low = 1.0;
  double step_high = 1.0;
  std::optional<Seconds> deadline;
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end with fewer trials
};

/// What many lives have in common.
struct RunSpread {
  int trials = 0;  ///< fewer than asked for when it was stopped
  Seconds p10;
  Seconds p50;
  Seconds p90;
  Seconds mean;
  double goodput_p10 = 0.0;  ///< 10th percentile of productive time over duration; in 0..1
  double goodput_p90 = 0.0;
  RunSplit split;  ///< mean
  double interruptions = 0.0;
  double checkpoints = 0.0;
  std::optional<double> meets_deadline;  ///< share of the trials
};

/// @return nothing where a run has more than most_run_events, or where it was stopped before one
///   trial ended
/// @pre trials >= 1; 0 < step_low <= 1 <= step_high
[[nodiscard]] std::optional<RunSpread> simulate_runs(const RunModel& model,
                                                     const RunSpreadOptions& options);

}  // namespace foretrain
