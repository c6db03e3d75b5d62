// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/measured_fit.hpp"
#include "planner/answer/answer.hpp"
#include "planner/constants/measured_logs.hpp"

namespace foretrain {

struct ProfileRequest {
  LogRequest logs;
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  MeasuredFitRequest fit;
  std::string name;   ///< of the profiles, as their files are called
  std::string today;  ///< date of logs that have none
};

/// A constant of a profile that was measured, beside the base's.
struct MeasuredConstant {
  std::string profile;  ///< "device", "fabric" or "site"
  std::string key;
  std::string base;  ///< empty: the base has none
  std::string text;
  std::optional<double> change;  ///< measured / base - 1
};

/// A file to write.
struct MadeProfile {
  std::string suffix;  ///< "", "-fabric", "-site": behind the name
  std::string text;
};

struct MadeProfiles {
  std::vector<MadeProfile> files;  ///< the device's first
  std::vector<MeasuredConstant> constants;
  MeasuredFit fit;
  std::vector<MeasuredLog> logs;
  std::vector<std::string> inherited;  ///< groups of the device's constants that nothing measured
};

/// Fits profiles to logs and writes them as the catalog's are written, what was not measured taken
/// from the shipped profile of the device. @throws UsageError when nothing could be fitted, a log
/// is of another device, or there is no such device or fabric; ScenarioError with places
[[nodiscard]] MadeProfiles make_profiles(const ProfileRequest& request);

[[nodiscard]] Answer made_profiles_answer(const MadeProfiles& made);
/// {"constants": [...], "residuals": [...], "outliers": [...], "verdict": [...], "inherited":
/// [...], "files": [...]}
[[nodiscard]] std::string made_profiles_json(const MadeProfiles& made);

}  // namespace foretrain
