// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "calibration/training_logs/training_log.hpp"

namespace foretrain {

/// A record whose steps took longer than those around it.
struct Stall {
  long step = 0;
  double seconds = 0.0;
  double lost = 0.0;  ///< seconds beyond what the records around it took
  bool at_checkpoint = false;
};

/// From one record on, steps take another time, and go on to.
struct LevelShift {
  long step = 0;
  double ratio = 1.0;   ///< of the time after over the time before
  double before = 0.5;  ///< share of the records that lie before it
};

/// What the step times of a run look like in their order. Seconds; warm-up is left out.
struct RunCourse {
  double median = 0.0;
  double p10 = 0.0;
  double p90 = 0.0;
  long records = 0;
  double interval = 1.0;  ///< steps from one record to the next
  double spread = 0.0;  ///< of single records about those around them: robust, a share of the step
  double drift = 0.0;   ///< last fifth over first fifth, less 1
  std::optional<LevelShift> shift;
  std::vector<Stall> stalls;  ///< the first `most_stalls`
  long stall_count = 0;
  long stalls_at_checkpoints = 0;
  double stalled_seconds = 0.0;  ///< lost in all of them
  std::optional<double> period;  ///< steps between stalls, where most come at equal distances
  /// Between records, beyond the steps themselves, by the times at which lines were written.
  long pauses = 0;
  double paused_seconds = 0.0;
  double paused_at_checkpoints = 0.0;  ///< of these
  double usual_pause = 0.0;            ///< seconds, the median
  std::optional<double> pause_period;  ///< steps between pauses, as `period`
  std::optional<double> wall_seconds;  ///< from the first record to the last
  std::optional<double> productive;    ///< steps at their median over wall_seconds
  double steps = 0.0;                  ///< that these times are of
  double step_seconds = 0.0;           ///< what all of them took

  /// Share of the time of steps that stalls lost.
  [[nodiscard]] double stalled_share() const;
  /// Of the run: by the clock where lines have one, else of its steps.
  [[nodiscard]] double all_seconds() const { return wall_seconds.value_or(step_seconds); }
  [[nodiscard]] bool stalls_are_checkpoints() const {
    return 2 * stalls_at_checkpoints > stall_count;
  }
  /// Between steps, and in slow ones, where most of them are at checkpoints.
  [[nodiscard]] double lost_at_checkpoints() const {
    return paused_at_checkpoints + (stalls_are_checkpoints() ? stalled_seconds : 0.0);
  }
  [[nodiscard]] double lost_in_slow_steps() const {
    return stalls_are_checkpoints() ? 0.0 : stalled_seconds;
  }
};

inline constexpr std::size_t most_stalls = 100;

/// @pre log.step
[[nodiscard]] RunCourse run_course(const TrainingLog& log);

}  // namespace foretrain
