// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/band_fit.hpp"
#include "calibration/fit/fit_plan.hpp"
#include "calibration/fit/fold.hpp"
#include "calibration/records/record_check.hpp"

namespace foretrain {

/// A fold with the forecasts of profiles that were fitted without its runs.
struct FoldForecast {
  Fold fold;
  std::vector<RecordCheck> checks;  ///< of the runs it asks about; `source` is the fold's name
  std::vector<BandCase> cases;      ///< of the same: what their bands did not know
};

struct LeaveOutOptions {
  std::filesystem::path cache = {};         ///< folder of fold.hpp; empty: none
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end early
  /// Called before a fold is fitted: its name, and how many are done of all.
  std::function<void(const Fold&, std::size_t, std::size_t)> progress = {};
};

struct LeaveOut {
  std::vector<FoldForecast> folds;  ///< that were finished, in order
  bool stopped = false;
};

/// Refits all constants without the runs of each fold in turn, and forecasts those it asks about.
/// Forecasts follow from the plan, the runs that stay and the fold alone, not from other folds,
/// threads or the cache; of measurements that it leaves out only where the search begins (the fit
/// of all runs), which is worth less than a twentieth of a constant's deviation.
/// @param runs those with a job are the runs of the folds and `facts`, in order
[[nodiscard]] LeaveOut leave_out(const FitPlan& plan, const std::vector<StepRun>& runs,
                                 const std::vector<RunFacts>& facts, const std::vector<Fold>& folds,
                                 const LeaveOutOptions& options);

/// Constants as a fit without a fold's runs gives them, in the plan's order.
struct FoldConstants {
  Fold fold;
  std::vector<double> values;      ///< base units
  std::vector<double> deviations;  ///< posterior standard deviations of their logarithms
};

/// Refits all constants without the runs of each fold in turn; fewer than `folds` where it was
/// stopped. As leave_out() otherwise.
[[nodiscard]] std::vector<FoldConstants> constants_without(const FitPlan& plan,
                                                           const std::vector<StepRun>& runs,
                                                           const std::vector<Fold>& folds,
                                                           const LeaveOutOptions& options);

}  // namespace foretrain
