// SPDX-License-Identifier: Apache-2.0
#include "calibration/internal/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "models/require.hpp"

namespace foretrain {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

class Solver {
 public:
  Solver(const RobustProblem& problem, const VectorXd& start, int resting)
      : problem_{problem}, x_{clamped(start)}, resting_{resting} {
    residuals_ = problem_.residuals(x_);
    objective_ = objective(x_, residuals_);
  }

  /// Steps with one set of derivatives. @return how far the furthest variable moved
  double descend(const MatrixXd& jacobian, double least_step) {
    constexpr int most_steps = 8;
    const VectorXd before = x_;
    for (int i = 0; i < most_steps; ++i)
      if (step(jacobian) < least_step) break;
    return (x_ - before).cwiseAbs().maxCoeff();
  }

  [[nodiscard]] const VectorXd& x() const { return x_; }
  [[nodiscard]] double objective() const { return objective_; }

 private:
  [[nodiscard]] VectorXd clamped(const VectorXd& x) const {
    return x.cwiseMax(problem_.low).cwiseMin(problem_.high);
  }

  [[nodiscard]] double root(double residual) const {
    const double relative = residual / problem_.scale;
    return std::sqrt(1.0 + relative * relative);
  }

  [[nodiscard]] double objective(const VectorXd& x, const VectorXd& residuals) const {
    double sum = 0.5 * (problem_.prior_rows * x - problem_.prior_values).squaredNorm();
    for (Eigen::Index i = 0; i < residuals.size(); ++i) {
      if (problem_.weights[i] <= 0.0) continue;
      sum += problem_.weights[i] * problem_.scale * problem_.scale * (root(residuals[i]) - 1.0);
    }
    return sum;
  }

  /// Gradient and curvature at x_ with the derivatives of the rows.
  void expand(const MatrixXd& jacobian, VectorXd& gradient, MatrixXd& curvature) const {
    VectorXd slope = VectorXd::Zero(residuals_.size());
    VectorXd bend = VectorXd::Zero(residuals_.size());
    for (Eigen::Index i = 0; i < residuals_.size(); ++i) {
      if (problem_.weights[i] <= 0.0) continue;
      const double at = root(residuals_[i]);
      slope[i] = problem_.weights[i] * residuals_[i] / at;
      bend[i] = problem_.weights[i] / (at * at * at);
    }
    gradient = jacobian.transpose() * slope +
               problem_.prior_rows.transpose() * (problem_.prior_rows * x_ - problem_.prior_values);
    curvature = jacobian.transpose() * bend.asDiagonal() * jacobian +
                problem_.prior_rows.transpose() * problem_.prior_rows;
  }

  [[nodiscard]] std::vector<Eigen::Index> free_variables(const VectorXd& gradient) const {
    std::vector<Eigen::Index> free;
    for (Eigen::Index j = 0; j < x_.size(); ++j) {
      const bool below = x_[j] <= problem_.low[j] && gradient[j] > 0.0;
      const bool above = x_[j] >= problem_.high[j] && gradient[j] < 0.0;
      if (!below && !above) free.push_back(j);
    }
    return free;
  }

  /// One damped step that improves the objective. @return its length; 0 when there is none
  double step(const MatrixXd& jacobian) {
    VectorXd gradient;
    MatrixXd curvature;
    expand(jacobian, gradient, curvature);
    auto free = free_variables(gradient);
    for (int resting = 0; !free.empty() && resting <= resting_; ++resting) {
      Eigen::Index furthest = 0;
      const double length = damped_step(gradient(free), curvature(free, free), free, furthest);
      if (length > 0.0) return length;
      free.erase(free.begin() + furthest);
    }
    return 0.0;
  }

  /// The same of the variables in `free`; `furthest` is the one that would move most.
  double damped_step(const VectorXd& gradient, const MatrixXd& curvature,
                     const std::vector<Eigen::Index>& free, Eigen::Index& furthest) {
    constexpr double least_damping = 1e-12;
    const double most_damping = resting_ > 0 ? 10.0 : 1e8;
    for (; damping_ <= most_damping; damping_ *= 10.0) {
      MatrixXd damped = curvature;
      damped.diagonal() *= 1.0 + damping_;
      const VectorXd move = damped.ldlt().solve(-gradient);
      move.cwiseAbs().maxCoeff(&furthest);
      VectorXd next = x_;
      next(free) += move;
      next = clamped(next);
      const VectorXd residuals = problem_.residuals(next);
      const double value = objective(next, residuals);
      if (!(value < objective_)) continue;
      const double length = (next - x_).cwiseAbs().maxCoeff();
      x_ = next;
      residuals_ = residuals;
      objective_ = value;
      damping_ = std::max(damping_ / 100.0, least_damping);
      return length;
    }
    damping_ = 1e-4;
    return 0.0;
  }

  const RobustProblem& problem_;
  VectorXd x_;
  int resting_;
  VectorXd residuals_;
  double objective_ = 0.0;
  double damping_ = 1e-4;
};

}  // namespace

RobustSolution robust_fit(const RobustProblem& problem, const VectorXd& start,
                          const RobustOptions& options) {
  FORETRAIN_REQUIRE(problem.low.size() == start.size() && problem.high.size() == start.size());
  FORETRAIN_REQUIRE(problem.scale > 0.0 && options.derivatives > 0);
  RobustSolution solution;
  Solver solver(problem, start, options.resting);
  while (!solution.converged && solution.derivatives < options.derivatives) {
    const MatrixXd& jacobian = problem.jacobian(solver.x(), options.exact);
    ++solution.derivatives;
    solution.converged = solver.descend(jacobian, 0.1 * options.step) < options.step;
  }
  solution.x = solver.x();
  solution.objective = solver.objective();
  return solution;
}

}  // namespace foretrain
