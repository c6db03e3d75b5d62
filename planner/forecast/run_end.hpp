// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "planner/answer/verdict.hpp"
#include "planner/forecast/report.hpp"

namespace foretrain {

/// Rules of Prediction::reasons: a plan that fits, whose run is no use.
inline constexpr const char* never_finishes_rule = "never-finishes";
inline constexpr const char* deadline_rule = "deadline";

/// Whether interruptions leave the run no progress: its goodput is known, its duration is not.
[[nodiscard]] bool never_finishes(const RunForecast& run);

/// Time to train: expected, or without interruptions where those are unknown. Absent for a run that
/// never finishes, and where the scenario gives no tokens.
[[nodiscard]] std::optional<Seconds> run_duration(const Prediction& prediction);

/// Chance that a run of `duration` is over by `deadline`, where all that is uncertain is the step,
/// whose 10th and 90th percentile are given (chance_below()).
[[nodiscard]] double chance_in_time(Seconds duration, const StepForecast& step, Seconds deadline);

/// Judges the end of the run: fills RunForecast::meets_deadline where no simulated runs did, and
/// adds to the reasons what is as good as certain: that the run never finishes, or that it misses
/// operations.deadline (Verdict::no of its chance). Asked again it judges anew.
void judge_run_end(const Job& job, Prediction& prediction);

/// The verdict on the deadline; absent where there is none, or no time to hold against it.
[[nodiscard]] std::optional<Verdict> deadline_verdict(const Prediction& prediction);

/// "The deadline is met with a probability of 84.0 %." and whether interruptions are counted; empty
/// without a deadline.
[[nodiscard]] std::string deadline_sentence(const RunForecast& run);

/// Judges every budget line of the scenario against the forecast. A metric is a dotted path to a
/// number of the JSON ("step.time_s", "memory.stages.0.peak_bytes"); limits are in the unit of the
/// key, or say one ("45 days"). A value that is null does not pass.
/// @throws ScenarioError naming the line, and the nearest metric, for paths that do not exist.
[[nodiscard]] std::vector<BudgetVerdict> judge_budget(const Report& report);

/// True when every line passes.
[[nodiscard]] bool within_budget(const std::vector<BudgetVerdict>& verdicts);

}  // namespace foretrain
