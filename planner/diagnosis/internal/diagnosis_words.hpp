// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/base/text.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/scene/scene.hpp"

namespace foretrain {

/// {label, sentence}: step, memory, drift, stalls, pauses, productive time.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> course_lines(
    const DiagnosisReport& report);
/// A level of steps from fewer records may be chance.
inline constexpr long fewest_records = 5;
[[nodiscard]] inline bool can_name_causes(const Diagnosis& diagnosis) {
  return diagnosis.course.records >= fewest_records && !diagnosis.causes.empty();
}
/// Title, setting, likelihood and step with a cause.
[[nodiscard]] std::string cause_head(const RankedCause& cause);
/// A finding with its figures, without a full stop.
[[nodiscard]] std::string finding_words(const DiagnosisReport& report, const RunFinding& finding);
/// "Run: where its wall time goes", or that of its steps alone.
[[nodiscard]] const char* wall_title(const Diagnosis& diagnosis);
/// The furthest that its lines reach.
[[nodiscard]] double waterfall_top(const std::vector<WaterfallLine>& lines);
/// Causes that are less likely are named without their evidence.
inline constexpr double least_likelihood = 0.03;
/// A time that may be negative, in the units of a step or of a run.
[[nodiscard]] std::string signed_seconds(double seconds);

/// Step times over the run, with the forecast's band behind them; nothing where the log has none.
[[nodiscard]] std::optional<Scene> series_chart(const DiagnosisReport& report,
                                                const SceneSpace& space);

}  // namespace foretrain
