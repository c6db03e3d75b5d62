// SPDX-License-Identifier: Apache-2.0
#include "planner/diagnosis/diagnosis_report.hpp"

#include <utility>

#include "calibration/training_logs/read_training_log.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/text/usage_error.hpp"

namespace foretrain {

TrainingLog timed_log(const std::vector<std::string>& files) {
  Diagnostics diagnostics;
  TrainingLog log = read_training_log(files, diagnostics);
  diagnostics.throw_if_any();
  if (!log.step)
    throw UsageError(files.front() +
                     ": the log says no step times, so there is nothing to compare");
  return log;
}

DiagnosisReport compared_with(TrainingLog log, const Job& job, std::string plan_source) {
  if (const auto open = refusals(job); !open.empty())
    throw UsageError(plan_source + " cannot be forecast: " + open.front().message);
  DiagnosisReport report{std::move(log), job, std::move(plan_source), {}, {}};
  report.diagnosis = diagnose(report.log, report.job);
  return report;
}

}  // namespace foretrain
