// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>

#include <functional>

namespace foretrain {

/// Least squares with a loss that grows linearly for outliers: the pseudo-Huber function
/// scale^2 (sqrt(1 + (r/scale)^2) - 1), whose second derivative exists everywhere
/// (Charbonnier et al., IEEE TIP 6, 1997).
struct RobustProblem {
  /// Residuals in units of their noise. Rows without weight may be anything.
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> residuals;
  /// Their derivatives. With `exact` false, a row may be as of an earlier point close by.
  std::function<const Eigen::MatrixXd&(const Eigen::VectorXd&, bool exact)> jacobian;
  Eigen::VectorXd weights;
  double scale = 1.0;
  /// Priors are rows of their own with unit noise and a plain square: prior_rows x = prior_values.
  Eigen::MatrixXd prior_rows;
  Eigen::VectorXd prior_values;
  Eigen::VectorXd low;  ///< bounds
  Eigen::VectorXd high;
};

struct RobustOptions {
  double step = 1e-6;  ///< converged when no variable moves further between two derivatives
  int derivatives = 40;
  bool exact = true;  ///< see RobustProblem::jacobian
  /// Variables that may rest for a step. Where no step of all improves the objective, the one that
  /// wants to move furthest sits at a kink of some residual, where derivatives tell of one side
  /// alone, and would hold the others. 0: only ever shorter steps of all, as far-off starts need.
  int resting = 0;
};

struct RobustSolution {
  Eigen::VectorXd x;
  double objective = 0.0;
  bool converged = false;
  int derivatives = 0;  ///< times that they were computed
};

/// Damped Newton steps (Levenberg, Marquardt) on the objective's Gauss-Newton form; variables at a
/// bound that want beyond it stay there. Deterministic.
[[nodiscard]] RobustSolution robust_fit(const RobustProblem& problem, const Eigen::VectorXd& start,
                                        const RobustOptions& options);

}  // namespace foretrain
