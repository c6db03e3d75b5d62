// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "calibration/fit/band_fit.hpp"
#include "calibration/fit/fold.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain {

struct LeftOutRequest {
  ValidateRequest records = {};  ///< memory is not read; `sources` are names of folds
  std::vector<FoldAxis> axes = {};
  std::filesystem::path cache = {};         ///< calibration/fit/fold_cache.hpp; empty: none
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end early
  /// Called before a fold is fitted: its name, and how many are done of all.
  std::function<void(const std::string&, std::size_t, std::size_t)> progress = {};
};

/// Errors of step times along one axis, by profiles that were fitted without the runs of each fold.
struct LeftOutValidation {
  FoldAxis axis = FoldAxis::source;
  std::vector<RecordCheck> records = {};  ///< predicted without their fold, which is `source`
  std::vector<CheckSummary> folds = {};   ///< as summarize() orders them
  /// The same where parts of one source (other machines or models of the same authors) that has its
  /// framework for itself count as sources; `source` names the part. Of sources alone.
  std::vector<CheckSummary> parts = {};
  std::vector<CheckSummary> fitted = {};  ///< of the same records with the profiles fitted on all
  std::vector<RecordCheck> fitted_records = {};  ///< what `fitted` sums up
  std::vector<BandCase> cases = {};              ///< of `records`: what their bands did not know
};

struct LeftOut {
  std::string plan;                     ///< fit plan that was read
  std::vector<LeftOutValidation> axes;  ///< those with a fold that was finished
  std::size_t done = 0;                 ///< folds
  std::size_t asked = 0;
  bool stopped = false;
  std::shared_ptr<const BandTable> bands = {};   ///< shipped
  std::map<std::string, StackReach> reach = {};  ///< of all fitted runs
};

/// Refits the profiles without the runs of each fold in turn and compares the forecasts of its step
/// times with the measurements.
/// @throws UsageError, ScenarioError with places
[[nodiscard]] LeftOut validate_left_out(const LeftOutRequest& request);

[[nodiscard]] Answer left_out_answer(const LeftOut& left_out);
/// {"plan", "stopped", "axes": [{"axis", "records", "folds", "parts", "fitted"}]}
[[nodiscard]] std::string left_out_json(const LeftOut& left_out);

}  // namespace foretrain
