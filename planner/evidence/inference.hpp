// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <string>
#include <vector>

#include "calibration/fit/engine_fit.hpp"
#include "calibration/validate/inference_validation.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

/// Measured inference runs: a file as inference_runs.yaml, or those that ship (an empty path).
struct InferenceRequest {
  std::filesystem::path file;
  std::vector<std::filesystem::path> catalogs;  ///< extra roots, searched first
  std::vector<std::string> sources;             ///< tables of records; empty: all
  const std::atomic<bool>* stop = nullptr;      ///< once true, work ends where it is
};

/// Forecasts every measured quantity. @throws UsageError, ScenarioError with places
[[nodiscard]] Validation validate_inference(const InferenceRequest& request);

/// Errors by quantity, engine, device and kind of model; with `skipped` every reason.
[[nodiscard]] Answer inference_answer(const Validation& validation, bool skipped);

/// Forecasts what was measured by constants of engines that were fitted without it, axis by axis.
/// @throws as validate_inference()
[[nodiscard]] std::vector<InferenceLeftOut> validate_inference_left_out(
    const InferenceRequest& request, const std::vector<EngineAxis>& axes);

[[nodiscard]] Answer inference_left_out_answer(const std::vector<InferenceLeftOut>& left_out);

/// The files of engines, and what the fit to the records makes of them.
struct EngineFile {
  std::filesystem::path path;
  std::string before;
  std::string after;
};
struct EngineCalibration {
  std::vector<EngineFit> fits;
  std::vector<EngineFile> files;
};

/// Constants of every engine, fitted to the records. @throws as validate_inference()
[[nodiscard]] EngineCalibration calibrate_engines(const InferenceRequest& request);

[[nodiscard]] Answer engine_calibration_answer(const EngineCalibration& calibration);

}  // namespace foretrain
