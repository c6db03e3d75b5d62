// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "calibration/diagnosis/expected_run.hpp"
#include "calibration/diagnosis/run_course.hpp"
#include "calibration/diagnosis/sign.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/base/names.hpp"
#include "models/inputs/job.hpp"

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

/// A setting that would hold as much memory as was measured.
struct MemoryCause {
  std::string setting;  ///< "memory.recompute=none"
  double bytes = 0.0;   ///< forecast with it, of the log's kind
};

/// What speaks for or against a cause.
struct Evidence {
  std::string what;
  double weight = 0.0;  ///< ln of how much likelier it is with the cause than as forecast
};

/// A cause with all that was found about it.
struct RankedCause {
  std::string id;
  std::string title;
  std::string setting;          ///< the degree that fits best; empty: it has none
  double likelihood = 0.0;      ///< that the run has it, alone or together with another
  double lost = 0.0;            ///< share of the run's time that it costs, if it is there
  double step = 0.0;            ///< forecast with it, seconds
  std::optional<double> share;  ///< of the way from forecast to measurement; absent: there is none
  std::vector<Evidence> evidence;  ///< the weightiest first
  std::string test;
};

/// What may explain the level of the steps: one cause, or two at once.
struct StepExplanation {
  std::vector<std::string> causes;  ///< ids
  double likelihood = 0.0;          ///< of all explanations together 1
};

/// The first is where it starts, the last the measurement.
struct WaterfallLine {
  std::string label;
  double seconds = 0.0;
};

struct Diagnosis {
  RunCourse course;
  StepForecast forecast;
  ExpectedRun expected;
  bool in_band = false;  ///< the median step is between the 10th and the 90th percentile
  std::vector<RunFinding> findings;  ///< what costs most time first; none: the run is as forecast
  std::vector<RankedCause> causes;   ///< by the time that they are likely to cost
  std::vector<StepExplanation> explanations;  ///< the likeliest first
  /// How many of the first explanations cannot be told apart: each is at least a third as likely as
  /// the first.
  std::size_t tied = 1;
  std::vector<MemoryCause> memory_causes;     ///< where memory is a finding
  std::vector<WaterfallLine> waterfall;       ///< of a step
  std::vector<WaterfallLine> wall_waterfall;  ///< of the run: all its steps, and what is between
  /// Of a plan of another layout, model or machine: nothing is compared then.
  std::vector<SettingDifference> differences;
  std::vector<SettingDifference> followed;  ///< of the batch: the forecast is of the log's
  std::vector<std::string> missing;         ///< which logs would tell more

  [[nodiscard]] bool as_forecast() const { return findings.empty() && differences.empty(); }
  [[nodiscard]] const RankedCause& cause(std::string_view id) const;
};

/// Holds a run against its forecast; of a run of another plan, what differs alone. Another batch is
/// followed where the plan can run it.
/// @pre log.step; broken_rules(job) and not_modelled(job) are empty.
[[nodiscard]] Diagnosis diagnose(const TrainingLog& log, const Job& job);

/// Weighs all hypotheses: fills causes, explanations and tied, and adds the finding `suspected`
/// where the log speaks for a cause inside the band.
void rank_causes(const TrainingLog& log, const Job& job, Diagnosis& diagnosis);

/// Of a step: by sections, where the log times them; else by the cause, if one is told.
[[nodiscard]] std::vector<WaterfallLine> step_waterfall(const TrainingLog& log,
                                                        const Diagnosis& diagnosis);
/// Of the run, by the clock; of its steps alone where lines have no time stamps.
[[nodiscard]] std::vector<WaterfallLine> wall_waterfall(const Diagnosis& diagnosis);

}  // namespace foretrain
