// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/engine_fit.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

/// Measured inference runs: a file as inference_runs.yaml, or the one that ships (an empty path).
struct InferenceRequest {
  std::filesystem::path file;
  std::vector<std::filesystem::path> catalogs;  ///< extra roots, searched first
  std::vector<std::string> sources;             ///< tables of records; empty: all
  const std::atomic<bool>* stop = nullptr;      ///< once true, work ends where it is
};

/// Forecasts every measured quantity. @throws UsageError, ScenarioError with places
[[nodiscard]] Validation validate_inference(const InferenceRequest& request);

/// Errors by quantity, engine, device and kind of model; with `skipped` every reason.
[[nodiscard]] std::string inference_text(const Validation& validation, bool skipped,
                                         const TextStyle& style);

/// Constants of every engine, fitted to the records; with the errors of what each fold leaves out.
struct EngineCalibration {
  std::vector<EngineFit> fits;
  /// Of records whose group, then whose device was left out of the fit; empty: not asked for.
  std::vector<RecordCheck> left_out;
};

/// @param folds also fit without each group, and predict it
/// @throws as validate_inference()
[[nodiscard]] EngineCalibration calibrate_engines(const InferenceRequest& request, bool folds);

[[nodiscard]] std::string engine_calibration_text(const EngineCalibration& calibration,
                                                  const TextStyle& style);

/// An engine's file with the fitted constants in place of those in it.
[[nodiscard]] std::string engine_file_text(const std::string& before, const EngineFit& fit);

}  // namespace foretrain
