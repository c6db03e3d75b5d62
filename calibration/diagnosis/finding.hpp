// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/diagnosis/run_course.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/base/names.hpp"

namespace foretrain {

/// What of a run is not as forecast.
enum class FindingKind {
  slower,       ///< the median step is above the band
  faster,       ///< below it
  timers,       ///< the step is inside the band, the passes that its timers show are not
  suspected,    ///< all is inside the band, but the log speaks for a cause
  drift,        ///< steps get slower, or faster, from the first to the last
  level_shift,  ///< they have two levels, one after the other
  checkpoints,  ///< time is lost where checkpoints are written
  slow_steps,   ///< single steps take longer than those around them
  pauses,       ///< time is lost between steps, at no checkpoint
  memory        ///< more or less is held than forecast
};
FORETRAIN_ENUM_NAMES(FindingKind, {FindingKind::slower, "slower"}, {FindingKind::faster, "faster"},
                     {FindingKind::timers, "timers"}, {FindingKind::suspected, "suspected"},
                     {FindingKind::drift, "drift"}, {FindingKind::level_shift, "level-shift"},
                     {FindingKind::checkpoints, "checkpoints"},
                     {FindingKind::slow_steps, "slow-steps"}, {FindingKind::pauses, "pauses"},
                     {FindingKind::memory, "memory"});

struct RunFinding {
  FindingKind kind = FindingKind::slower;
  double size = 0.0;  ///< by how much it is off, a share with its sign: 0.25 is 25 % more
  double lost = 0.0;  ///< share of the run's time that it costs or saves; memory: 0
};

/// Whether it is of the level of steps, which the hypotheses of steps explain.
[[nodiscard]] bool is_level(FindingKind kind);

/// All that the log alone shows, `suspected` left out; what costs most time first, memory last.
/// What is within the band, and patterns too weak to act on, are none.
[[nodiscard]] std::vector<RunFinding> findings_of(const TrainingLog& log, const RunCourse& course,
                                                  const ExpectedRun& expected,
                                                  const StepForecast& band);

/// The most time first, memory last.
void sort_findings(std::vector<RunFinding>& findings);

}  // namespace foretrain
