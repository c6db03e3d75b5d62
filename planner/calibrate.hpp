// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/kernel_fit.hpp"
#include "calibration/profile_fit.hpp"
#include "planner/text_layout.hpp"

namespace foretrain {

struct CalibrateRequest {
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  std::filesystem::path plan = {};                   ///< empty: calibration/fits/steps.yaml
  /// Profiles to report and write, e.g. "stack/megatron-core"; empty: all of the plan. The fit is
  /// joint all the same: profiles share records.
  std::vector<std::string> profiles = {};
};

/// A profile's file with what the fit gives for it.
struct ProfileFile {
  ProfileRef profile;
  std::filesystem::path path;
  std::string shown;  ///< as messages call it
  std::string before;
  std::string after;

  [[nodiscard]] bool changed() const { return before != after; }
};

struct Calibration {
  std::string plan;  ///< file that was read
  ProfileFit fit;
  KernelFit kernels;               ///< fitted first; steps are priced with them
  std::vector<ProfileFile> files;  ///< of the profiles asked for, by layer and name
  std::vector<ProfileRef> profiles;
};

/// Fits the kernel constants of devices to the shipped kernels, then the constants that the plan
/// frees to the shipped records, starting from the profiles as they are. @throws UsageError,
/// ScenarioError with places
[[nodiscard]] Calibration calibrate(const CalibrateRequest& request);

/// Constants with their priors, bands, and errors by source before and after.
[[nodiscard]] std::string calibration_text(const Calibration& calibration, const TextStyle& style);
/// {"plan", "converged", "objective", "constants": [...], "bands": [...], "before": [...], "after":
/// [...], "changed": [...]}; before and after are summaries as those of `validate --json`.
[[nodiscard]] std::string calibration_json(const Calibration& calibration);

}  // namespace foretrain
