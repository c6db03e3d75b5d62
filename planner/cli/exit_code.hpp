// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace foretrain {

/// What the program tells its caller. Signals give 128 + n.
enum ExitCode : int {
  exit_ok = 0,
  exit_internal = 1,      ///< a defect of ours, or the output could not be written
  exit_usage = 2,         ///< bad usage or input
  exit_infeasible = 3,    ///< the plan cannot run
  exit_budget = 4,        ///< a budget is violated, or a claim is impossible
  exit_uncalibrated = 5,  ///< outside the calibrated range, under --strict
  exit_partial = 6,       ///< points of a sweep have no answer
};

}  // namespace foretrain
