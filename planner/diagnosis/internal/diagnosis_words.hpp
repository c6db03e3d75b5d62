// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/diagnosis/diagnosis_report.hpp"

namespace foretrain {

/// {label, sentence}: step, memory, drift, stalls, pauses, productive time.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> course_lines(
    const DiagnosisReport& report);
/// Title, setting, likelihood and step with a cause.
[[nodiscard]] std::string cause_head(const RankedCause& cause);
/// @pre diagnosis.tied > 1
[[nodiscard]] std::string tied_sentence(const Diagnosis& diagnosis);
/// seconds_text() of a number that may be negative.
[[nodiscard]] std::string signed_seconds(double seconds);

}  // namespace foretrain
