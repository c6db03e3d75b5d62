// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/diagnosis/diagnose.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/inputs/job.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {

/// A diagnosis with what it is of.
struct DiagnosisReport {
  TrainingLog log;
  Job job;
  std::string plan_source;               ///< "run.yaml", or "the log"
  std::vector<std::string> assumptions;  ///< of a plan that the log states
  Diagnosis diagnosis;
};

/// As forecast, or each finding with its figures, the costliest first, and what explains it.
[[nodiscard]] std::string diagnosis_verdict(const DiagnosisReport& report);

/// For people, at most style.width columns wide.
[[nodiscard]] std::string diagnosis_text(const DiagnosisReport& report, const TextStyle& style);

/// Schema diagnosis/1; key names carry units, unknown values are null.
[[nodiscard]] std::string diagnosis_json(const DiagnosisReport& report);

/// One HTML file with everything in it, also the series of steps and the waterfall as pictures. It
/// asks nothing of a network and has no script; text of users is escaped.
[[nodiscard]] std::string diagnosis_html(const DiagnosisReport& report);

}  // namespace foretrain
