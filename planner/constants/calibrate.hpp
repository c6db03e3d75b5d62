// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/collective_fit.hpp"
#include "calibration/fit/kernel_fit.hpp"
#include "calibration/fit/profile_fit.hpp"
#include "planner/answer/answer.hpp"

namespace foretrain {

struct CalibrateRequest {
  std::vector<std::filesystem::path> catalogs = {};  ///< extra catalog roots, searched first
  std::filesystem::path plan = {};                   ///< empty: calibration/fits/steps.yaml
  /// Profiles to report and write, e.g. "stack/megatron-core" or "fabric/ib-ndr"; empty: all. The
  /// fit is joint all the same: profiles share records.
  std::vector<std::string> profiles = {};
  int starts = 3;  ///< of the fit to runs: at the priors, and beside them
};

/// A constant that is not what the fit gives.
struct ProfileMismatch {
  std::string key;
  std::string before;  ///< as the file writes it; empty: it does not
  std::string after;
  double deviations = 0.0;  ///< how far off, in deviations; 0 where there is none to count in
};

/// The file of a profile or a fabric preset with what the fits give for it.
struct ProfileFile {
  std::string name;  ///< "device/h200", "fabric/ib-ndr"
  std::filesystem::path path;
  std::string shown;  ///< as messages call it
  std::string before;
  std::string after;  ///< the same while it says what the fit gives, within same_fit
  std::vector<ProfileMismatch> differences;

  [[nodiscard]] bool changed() const { return !differences.empty(); }
};

struct Calibration {
  std::string plan;            ///< file that was read
  ProfileFit fit;              ///< the best of all starts
  std::vector<double> starts;  ///< objectives where they ended
  KernelFit kernels;           ///< fitted first, as the collectives; steps are priced with both
  CollectiveFit collectives;
  std::vector<ProfileFile> files;  ///< of what was asked for, by name
  ProfileFile plan_file;           ///< changed where it states another minimum, to 1e-6
  /// calibration/fits/constants.csv: priors, and what determined each constant; changed where it
  /// lists others, or records that say otherwise.
  ProfileFile constants_file;

  [[nodiscard]] bool asked(const std::string& profile) const;
};

/// Fits the kernel constants of devices to the shipped kernels, those of collectives within hosts
/// and over fabrics to the shipped sweeps, then the constants that the plan frees to the shipped
/// runs, starting from the profiles as they are. @throws UsageError, ScenarioError with places
[[nodiscard]] Calibration calibrate(const CalibrateRequest& request);

/// Constants with their priors, bands, errors by source before and after, and by benchmark.
[[nodiscard]] Answer calibration_answer(const Calibration& calibration);
/// {"plan", "converged", "objective", "constants": [...], "bands": [...], "alone": [...], "before":
/// [...], "after": [...], "changed": [...]}; alone are errors of kernels and collectives, before
/// and after summaries as those of `validate --json`.
[[nodiscard]] std::string calibration_json(const Calibration& calibration);

}  // namespace foretrain
