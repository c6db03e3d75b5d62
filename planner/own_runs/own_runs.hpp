// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "calibration/fit/profile_constant.hpp"
#include "calibration/records/record_check.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

/// A fit of profiles to runs of one's own.
struct OwnRunsRequest {
  /// In the format of calibration/measured/runs.yaml, or what `import log --json` prints.
  std::vector<std::filesystem::path> files;
  /// "stack/X,site/Y,device/Z": profiles to start from, in place of those that validate chooses.
  std::string around = {};
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  std::string today;                                 ///< date of the profiles
};

/// A run before and after the fit; bands included.
struct OwnRunLine {
  RecordCheck before;
  RecordCheck after;
  std::optional<double> left_out;     ///< seconds, by a fit without it; of three runs and more
  std::vector<std::string> profiles;  ///< that it was made with
};

struct OwnConstantLine {
  std::string profile;            ///< "site/default"
  std::vector<std::string> keys;  ///< that share the number
  std::string before;             ///< as files write them
  std::string after;
  double change = 0.0;     ///< after / before - 1
  double width = 0.0;      ///< deviation of its logarithm before the runs
  double deviation = 0.0;  ///< and after them
  double effect = 0.0;     ///< on the step of these runs where it says most, of a deviation of it
  bool moved = false;      ///< enough to move a forecast of these runs: it is written

  /// The runs leave most of what was not known of it before.
  [[nodiscard]] bool undetermined() const { return deviation > 0.9 * width; }
};

/// A profile to write, below the folder of --out.
struct OwnProfileFile {
  std::string path;  ///< "stack/megatron-core.yaml"
  std::string text;
};

struct OwnRunsFit {
  std::vector<std::string> files;     ///< that were read
  std::vector<std::string> profiles;  ///< that the fit is around, "stack/megatron-core"
  std::vector<OwnRunLine> runs;
  std::vector<RecordCheck> skipped;  ///< records that could not be priced, with the reason
  std::vector<OwnConstantLine> constants;
  double noise = 0.0;  ///< deviation of ln(measured / forecast) that no constant explains
  std::vector<OwnProfileFile> made;
};

/// Fits the constants of the runs' stacks, sites and devices to them (calibration/docs/own-runs.md)
/// and writes the profiles that moved, each `like` the shipped one of its name.
/// @throws UsageError where no run can be priced or --around names what there is not;
///   ScenarioError with places
[[nodiscard]] OwnRunsFit fit_own_runs(const OwnRunsRequest& request);

[[nodiscard]] Answer own_runs_answer(const OwnRunsFit& fit);
/// {"schema": "own-fit/1", "files", "profiles", "runs": [...], "skipped": [...], "constants":
/// [...], "noise", "errors": {...}, "made": [...]}
[[nodiscard]] std::string own_runs_json(const OwnRunsFit& fit);

}  // namespace foretrain
