// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/leave_out.hpp"
#include "calibration/fit/own_fit.hpp"

namespace foretrain {

/// What runs of one's own are worth: sources that no constant has seen, some of whose runs are
/// drawn and fitted, and the error of the others.
struct OwnDrawsOptions {
  std::vector<int> fitted = {1, 2, 3, 5};  ///< runs drawn
  int draws = 50;                          ///< of each number
  const std::atomic<bool>* stop = nullptr;
};

/// Mean errors of a source's other runs: mean absolute predicted / measured - 1.
struct OwnDraws {
  std::string source;
  int runs = 0;
  double before = 0.0;        ///< of all its runs
  std::vector<double> after;  ///< by OwnDrawsOptions::fitted; negative: too few runs
};

/// Draws from one fold: its constants are those of a fit without its runs. The draws follow from
/// the name of the fold alone. @param runs those with a job are the runs of the fold, in order
[[nodiscard]] OwnDraws draw_own(const FitPlan& plan, const std::vector<StepRun>& runs,
                                const FoldConstants& fold, const OwnDrawsOptions& options);

}  // namespace foretrain
