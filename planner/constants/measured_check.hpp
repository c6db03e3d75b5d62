// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "planner/answer/answer.hpp"
#include "planner/constants/measured_logs.hpp"

namespace foretrain {

struct MeasuredCheckRequest {
  LogRequest logs;
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  std::vector<std::string> profiles = {};  ///< paths of profiles in place of the shipped ones
};

/// Measurements held against forecasts, those that a profile was fitted on apart from the others.
struct MeasuredCheck {
  std::vector<RecordCheck> tested;  ///< not fitted: other files, held-out records, training runs
  std::vector<RecordCheck> fitted;
};

/// Predicts everything that the logs hold. A record counts as fitted where a profile lists its file
/// (by SHA-256) and did not hold it out. @throws UsageError, ScenarioError with places
[[nodiscard]] MeasuredCheck check_measured(const MeasuredCheckRequest& request);

/// Errors by what was measured; with `skipped` why records were not predicted.
[[nodiscard]] Answer measured_check_answer(const MeasuredCheck& check, bool skipped);
/// {"tested": {"records": [...], "summary": [...]}, "fitted": {...}}
[[nodiscard]] std::string measured_check_json(const MeasuredCheck& check);

}  // namespace foretrain
