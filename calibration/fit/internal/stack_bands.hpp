// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>

#include <vector>

#include "calibration/fit/fit_plan.hpp"
#include "calibration/fit/internal/fit_problem.hpp"
#include "calibration/fit/profile_fit.hpp"

namespace foretrain {

/// Bands and median errors of the stacks that the plan frees a constant of, over the rows with a
/// weight: of a stack's dense runs; what experts add to the band is the same for all stacks
/// (models/forecast/band.cpp). A stack with runs of experts alone gets theirs.
[[nodiscard]] std::vector<FittedBand> stack_bands(const FitPlan& plan, const FitProblem& problem,
                                                  const Eigen::VectorXd& weights,
                                                  const std::vector<double>& seconds);

}  // namespace foretrain
