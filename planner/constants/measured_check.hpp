// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/records/record_check.hpp"
#include "planner/answer/answer.hpp"
#include "planner/constants/measured_logs.hpp"

namespace foretrain {

/// One constant of two profiles.
struct ProfileDifference {
  std::string key;
  std::string a;  ///< as the file writes it; empty: it has none
  std::string b;
  std::optional<double> change;  ///< b / a - 1 of numbers other than 0
};

struct ProfileComparison {
  std::string a;
  std::string b;
  std::vector<ProfileDifference> constants;  ///< of either profile, in the order of the format
};

/// Two profiles side by side: each "device/NAME", "stack/NAME", "site/NAME", "fabric/NAME" or the
/// path of a file. @param b empty: the shipped profile that `a` names as its base, or is called as
/// @throws UsageError, ScenarioError with places
[[nodiscard]] ProfileComparison compare_profiles(
    const std::string& a, const std::string& b, const std::vector<std::filesystem::path>& catalogs);

/// A table; constants that are the same are counted unless `all`.
[[nodiscard]] Answer profile_comparison_answer(const ProfileComparison& comparison, bool all);
/// {"a", "b", "constants": [{"key", "a", "b", "change"}]}
[[nodiscard]] std::string profile_comparison_json(const ProfileComparison& comparison);

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
