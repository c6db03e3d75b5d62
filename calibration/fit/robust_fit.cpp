// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/robust_fit.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

constexpr double widest_span = 0.2;  // before deviations are known
constexpr double least_span = 1e-3;
constexpr double far = 0.7;         // of a deviation: from there steps must improve the objective
constexpr double near = 0.3;        // of a deviation: from there planes go through all points
constexpr std::size_t memory = 12;  // steps that Anderson's mixing looks back on

/// A point, and the objective there.
struct Reached {
  VectorXd x;
  double objective = 0.0;
};

/// A Newton step and how sure the variables are; those that a bound holds do not move.
struct Step {
  VectorXd move;
  VectorXd deviations;
  MatrixXd curvature;
  VectorXd gradient;
  std::vector<Index> free;
  double objective = 0.0;  ///< of the planes
  double furthest = 0.0;   ///< of the moves, in deviations
};

class Objective {
 public:
  explicit Objective(const RobustProblem& problem) : problem_{problem} {}

  [[nodiscard]] VectorXd clamped(const VectorXd& x) const {
    return x.cwiseMax(problem_.low).cwiseMin(problem_.high);
  }

  [[nodiscard]] Reached at(const VectorXd& x) const {
    Reached place{clamped(x), 0.0};
    place.objective = value(place.x, problem_.residuals(place.x));
    return place;
  }

  /// The Newton step from a point, with planes over `spans`.
  [[nodiscard]] Step step_from(const VectorXd& x, const VectorXd& spans, bool coarse) const {
    const ResidualPlanes& planes = problem_.planes(x, spans, coarse);
    const Index rows = planes.values.size();
    VectorXd slope = VectorXd::Zero(rows);
    VectorXd bend = VectorXd::Zero(rows);
    for (Index i = 0; i < rows; ++i) {
      if (problem_.weights[i] <= 0.0) continue;
      const double at = root(planes.values[i]);
      slope[i] = problem_.weights[i] * planes.values[i] / at;
      bend[i] = problem_.weights[i] / (at * at * at);
    }
    Step step;
    step.objective = value(x, planes.values);
    step.gradient =
        planes.slopes.transpose() * slope + problem_.prior_rows.transpose() * prior_errors(x);
    step.curvature = planes.slopes.transpose() * bend.asDiagonal() * planes.slopes +
                     problem_.prior_rows.transpose() * problem_.prior_rows;
    for (Index j = 0; j < x.size(); ++j) {
      const bool below = x[j] <= problem_.low[j] && step.gradient[j] > 0.0;
      const bool above = x[j] >= problem_.high[j] && step.gradient[j] < 0.0;
      if (!below && !above) step.free.push_back(j);
    }
    solve(step);
    return step;
  }

  /// The step with a larger curvature, and so a shorter one.
  [[nodiscard]] static VectorXd damped(const Step& step, double damping) {
    MatrixXd curvature = step.curvature(step.free, step.free);
    curvature.diagonal() *= 1.0 + damping;
    VectorXd move = VectorXd::Zero(step.gradient.size());
    const VectorXd gradient = step.gradient(step.free);
    const VectorXd solved = curvature.ldlt().solve(-gradient);
    move(step.free) = solved;
    return move;
  }

 private:
  [[nodiscard]] VectorXd prior_errors(const VectorXd& x) const {
    return problem_.prior_rows * x - problem_.prior_values;
  }

  [[nodiscard]] double value(const VectorXd& x, const VectorXd& residuals) const {
    double sum = 0.5 * prior_errors(x).squaredNorm();
    for (Index i = 0; i < residuals.size(); ++i)
      if (problem_.weights[i] > 0.0)
        sum += problem_.weights[i] * problem_.scale * problem_.scale * (root(residuals[i]) - 1.0);
    return sum;
  }

  [[nodiscard]] double root(double residual) const {
    const double relative = residual / problem_.scale;
    return std::sqrt(1.0 + relative * relative);
  }

  static void solve(Step& step) {
    step.move = damped(step, 0.0);
    const Index count = step.gradient.size();
    step.deviations = step.curvature.ldlt()
                          .solve(MatrixXd::Identity(count, count))
                          .diagonal()
                          .cwiseMax(0.0)
                          .cwiseSqrt();
    step.furthest = step.move.cwiseAbs().cwiseQuotient(step.deviations).maxCoeff();
  }

  const RobustProblem& problem_;
};

/// Anderson's mixing of Newton steps: where each misses part of the curvature, what the last ones
/// missed in common is taken out. Lengths are in the curvature's metric.
class Mixing {
 public:
  void forget() { moves_.clear(), points_.clear(); }

  /// What to add to x.
  VectorXd next(const VectorXd& x, const Step& step) {
    points_.push_back(x);
    moves_.push_back(step.move);
    if (points_.size() > memory + 1) points_.pop_front(), moves_.pop_front();
    const auto count = static_cast<Index>(points_.size()) - 1;
    if (count == 0) return 0.5 * step.move;
    MatrixXd points(x.size(), count);
    MatrixXd moves(x.size(), count);
    for (Index i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(i);
      points.col(i) = points_[at + 1] - points_[at];
      moves.col(i) = moves_[at + 1] - moves_[at];
    }
    const MatrixXd weighted = step.curvature * moves;
    MatrixXd normal = moves.transpose() * weighted;
    normal.diagonal().array() += 1e-10 * normal.diagonal().maxCoeff();
    const VectorXd share = normal.ldlt().solve(weighted.transpose() * step.move);
    return step.move - (points + moves) * share;
  }

 private:
  std::deque<VectorXd> points_;
  std::deque<VectorXd> moves_;
};

class Solver {
 public:
  Solver(const RobustProblem& problem, const VectorXd& start, const VectorXd& known_spans)
      : objective_{problem}, place_{objective_.at(start)}, known_{known_spans.size() > 0} {
    spans_ =
        known_ ? known_spans : problem.prior_rows.diagonal().cwiseInverse().cwiseMin(widest_span);
    coarse_ = !known_;
  }

  /// One set of planes and what follows from it. @return how far the Newton step reaches
  double advance() {
    seen_ = place_.x;
    step_ = objective_.step_from(place_.x, spans_, coarse_);
    if (std::exchange(known_, false) && step_.furthest >= far) {
      coarse_ = true;  // the known planes only lead the way
    } else if (coarse_ && step_.furthest < near) {
      coarse_ = false;
      mixing_.forget();
      step_ = objective_.step_from(place_.x, step_.deviations, coarse_);
    }
    // Where a kink is within reach, deviations follow from spans and spans from deviations:
    // halfway, and no longer once that throws the steps about.
    if (relaxed_ == 1.0)
      spans_ = spans_.cwiseProduct(step_.deviations.cwiseMax(least_span)).cwiseSqrt();
    if (step_.furthest < far || !descends()) mix();
    return step_.furthest;
  }

  /// As of the last set of planes.
  [[nodiscard]] RobustSolution solution() const {
    RobustSolution solution;
    solution.x = seen_;
    solution.objective = step_.objective;
    solution.deviations = step_.deviations;
    return solution;
  }

  [[nodiscard]] double reach() const { return step_.furthest; }

 private:
  /// A step that improves the objective, the shorter the more it takes. @return whether there is
  /// one
  bool descends() {
    constexpr double most_damping = 1e6;
    mixing_.forget();
    for (damping_ = std::max(damping_ / 100.0, 1e-6); damping_ <= most_damping; damping_ *= 10.0) {
      Reached next = objective_.at(place_.x + Objective::damped(step_, damping_));
      if (!(next.objective < place_.objective)) continue;
      place_ = std::move(next);
      return true;
    }
    damping_ = 1e-2;
    return false;
  }

  void mix() {
    constexpr double longest = 1.0;  // of a deviation
    constexpr int patience = 10;     // steps that do not come closer
    if (step_.furthest < 0.5 * closest_ || ++idle_ > patience) {
      if (idle_ > patience) {  // a kink throws it from side to side
        relaxed_ *= 0.5;
        mixing_.forget();
      }
      closest_ = std::min(closest_, step_.furthest);
      idle_ = 0;
    }
    VectorXd move = mixing_.next(place_.x, step_);
    const double reach = move.cwiseAbs().cwiseQuotient(step_.deviations).maxCoeff();
    if (reach > longest) move *= longest / reach;
    place_ = objective_.at(place_.x + relaxed_ * move);
  }

  Objective objective_;
  Reached place_;
  VectorXd seen_;
  VectorXd spans_;
  Step step_;
  Mixing mixing_;
  double damping_ = 1e-4;
  double relaxed_ = 1.0;
  double closest_ = far;
  int idle_ = 0;
  bool coarse_ = true;
  bool known_;
};

}  // namespace

FittedLine fitted_line(const std::vector<double>& offsets, const std::vector<double>& values) {
  FORETRAIN_REQUIRE(offsets.size() == values.size() && offsets.size() > 1);
  const auto count = static_cast<Index>(offsets.size());
  const Eigen::Map<const VectorXd> at(offsets.data(), count);
  const Eigen::Map<const VectorXd> value(values.data(), count);
  const VectorXd centred = (at.array() - at.mean()).matrix();
  const double slope = centred.dot(value) / centred.squaredNorm();
  return {value.mean() - slope * at.mean(), slope};
}

RobustSolution robust_fit(const RobustProblem& problem, const VectorXd& start,
                          const RobustOptions& options) {
  FORETRAIN_REQUIRE(problem.low.size() == start.size() && problem.high.size() == start.size());
  FORETRAIN_REQUIRE(problem.scale > 0.0 && options.derivatives > 0);
  FORETRAIN_REQUIRE(options.spans.size() == 0 || options.spans.size() == start.size());
  Solver solver(problem, start, options.spans);
  int derivatives = 0;
  bool converged = false;
  while (!converged && derivatives < options.derivatives) {
    converged = solver.advance() < options.step;
    ++derivatives;
  }
  RobustSolution solution = solver.solution();
  solution.converged = converged;
  solution.derivatives = derivatives;
  return solution;
}

MatrixXd said_by_rows(const RobustProblem& problem, const RobustSolution& solution) {
  const ResidualPlanes& planes =
      problem.planes(solution.x, solution.deviations.cwiseMax(least_span), false);
  MatrixXd said = MatrixXd::Zero(planes.values.size(), solution.x.size());
  for (Index i = 0; i < said.rows(); ++i) {
    if (problem.weights[i] <= 0.0) continue;
    const double relative = planes.values[i] / problem.scale;
    const double bend = problem.weights[i] / std::pow(1.0 + relative * relative, 1.5);
    said.row(i) = bend * planes.slopes.row(i).cwiseAbs2();
  }
  return said;
}

VectorXd prior_deviations(const RobustProblem& problem) {
  const Index count = problem.prior_rows.cols();
  return (problem.prior_rows.transpose() * problem.prior_rows)
      .ldlt()
      .solve(MatrixXd::Identity(count, count))
      .diagonal()
      .cwiseSqrt();
}

VectorXd other_start(const RobustProblem& problem, const VectorXd& start, int number) {
  constexpr double widest = 0.5;  // of ln(constant)
  constexpr double golden = 0.6180339887498949;
  VectorXd other = start;
  for (Index i = 0; i < other.size(); ++i) {
    const double turn = static_cast<double>(i + 1) * golden * static_cast<double>(number);
    const double side = turn - std::floor(turn) < 0.5 ? -0.5 : 0.5;
    other[i] += side * std::min(1.0 / problem.prior_rows(i, i), widest);
  }
  return other;
}

RobustSolution best_fit(const RobustProblem& problem, const VectorXd& start, int starts,
                        const RobustOptions& options) {
  constexpr double same = 1e-3;  // of objectives
  RobustSolution best = robust_fit(problem, start, options);
  for (int i = 1; i < starts; ++i) {
    RobustSolution other = robust_fit(problem, other_start(problem, start, i), options);
    if (other.converged && (!best.converged || other.objective < best.objective - same))
      best = std::move(other);
  }
  return best;
}

}  // namespace foretrain
