// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Dense>

#include <functional>
#include <vector>

namespace foretrain {

/// Residuals around a point, one plane each: through values on either side, not the tangent, so
/// that neither a kink nor a jump close by decides.
struct ResidualPlanes {
  Eigen::VectorXd values;  ///< at the point
  Eigen::MatrixXd slopes;
};

/// A line through values at offsets from a point, by least squares.
struct FittedLine {
  double value = 0.0;  ///< at the point
  double slope = 0.0;
};
/// @pre two offsets that differ
[[nodiscard]] FittedLine fitted_line(const std::vector<double>& offsets,
                                     const std::vector<double>& values);

/// Least squares with a loss that grows linearly for outliers: the pseudo-Huber function
/// scale^2 (sqrt(1 + (r/scale)^2) - 1), whose second derivative exists everywhere
/// (Charbonnier et al., IEEE TIP 6, 1997). Residuals may have kinks, where two paths of a step
/// meet, and small jumps, where a schedule changes its order.
struct RobustProblem {
  /// Residuals in units of their noise. Rows without weight may be anything.
  std::function<Eigen::VectorXd(const Eigen::VectorXd&)> residuals;
  /// Planes through the residuals around x, within `spans` to either side of each variable; through
  /// fewer points where they only lead the way.
  std::function<const ResidualPlanes&(const Eigen::VectorXd& x, const Eigen::VectorXd& spans,
                                      bool coarse)>
      planes;
  Eigen::VectorXd weights;
  double scale = 1.0;
  /// Priors are rows of their own with unit noise and a plain square: prior_rows x = prior_values.
  Eigen::MatrixXd prior_rows;
  Eigen::VectorXd prior_values;
  Eigen::VectorXd low;  ///< bounds
  Eigen::VectorXd high;
};

struct RobustOptions {
  /// Converged when a further step moves no variable by more than this share of its deviation.
  double step = 0.01;
  int derivatives = 120;
  /// Deviations of a fit close by, whose planes at the start are known; empty: none.
  Eigen::VectorXd spans = {};
};

struct RobustSolution {
  Eigen::VectorXd x;
  /// Posterior standard deviations: roots of the diagonal of the inverse of the objective's
  /// Gauss-Newton curvature, priors included, at x.
  Eigen::VectorXd deviations;
  double objective = 0.0;
  bool converged = false;
  int derivatives = 0;  ///< times that they were computed
};

/// Where the objective's gradient vanishes, residuals taken as planes over a deviation to either
/// side of each variable: damped Newton steps (Levenberg, Marquardt) from afar, then steps with
/// Anderson's mixing (J. ACM 12, 1965). The objective is that of the planes. Variables at a bound
/// that want beyond it stay there. Deterministic.
[[nodiscard]] RobustSolution robust_fit(const RobustProblem& problem, const Eigen::VectorXd& start,
                                        const RobustOptions& options);

/// What each row says of each variable at a point: its part of the diagonal of the objective's
/// Gauss-Newton curvature.
[[nodiscard]] Eigen::MatrixXd said_by_rows(const RobustProblem& problem,
                                           const RobustSolution& solution);
/// Standard deviations of the variables by their priors alone.
[[nodiscard]] Eigen::VectorXd prior_deviations(const RobustProblem& problem);

/// A start half a prior's width from `start` in every variable, to either side by turns that the
/// number decides.
[[nodiscard]] Eigen::VectorXd other_start(const RobustProblem& problem,
                                          const Eigen::VectorXd& start, int number);

/// The fit from `start` and from others, as many in all as `starts`; that with the least objective,
/// the earlier one where they agree.
[[nodiscard]] RobustSolution best_fit(const RobustProblem& problem, const Eigen::VectorXd& start,
                                      int starts, const RobustOptions& options);

}  // namespace foretrain
