// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/diagnosis/diagnose.hpp"
#include "calibration/training_logs/training_log.hpp"
#include "models/inputs/job.hpp"
#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"

namespace foretrain {

/// A diagnosis with what it is of.
struct DiagnosisReport {
  TrainingLog log;
  Job job;
  std::string plan_source;               ///< "run.yaml", or "the log"
  std::vector<std::string> assumptions;  ///< of a plan that the log states
  Diagnosis diagnosis;
};

/// Training logs of one run. @throws ScenarioError with what is wrong in them, UsageError where
/// they say no step times
[[nodiscard]] TrainingLog timed_log(const std::vector<std::string>& files);

/// Compares a log with the forecast of the plan of a scenario. @throws UsageError where that plan
/// cannot be forecast
[[nodiscard]] DiagnosisReport compared_with(TrainingLog log, const Job& job,
                                            std::string plan_source);

/// As forecast, or each finding with its figures, the costliest first, and what explains it.
[[nodiscard]] std::string diagnosis_verdict(const DiagnosisReport& report);

[[nodiscard]] Answer diagnosis_answer(const DiagnosisReport& report);

/// Schema diagnosis/1; key names carry units, unknown values are null.
[[nodiscard]] std::string diagnosis_json(const DiagnosisReport& report);
[[nodiscard]] const ValueRows& diagnosis_document();

}  // namespace foretrain
