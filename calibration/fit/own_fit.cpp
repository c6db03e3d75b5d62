// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/own_fit.hpp"

#include <Eigen/Cholesky>
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

/// A job whose constants can be set, in logarithms over the shipped ones.
class MovedJob {
 public:
  MovedJob(const std::vector<OwnConstant>& constants, const Job& job)
      : constants_{constants}, job_{job}, layout_{stage_layout(job.model, job.parallel)} {
    for (std::size_t i = 0; i < constants.size(); ++i) {
      if (!uses(job_, constants[i].profile)) continue;
      Knob knob{static_cast<Index>(i), {}};
      for (const std::string& key : constants[i].keys)
        if (const auto found = constant_of(constants[i].profile, key, job_))
          knob.refs.push_back(*found);
      if (!knob.refs.empty()) knobs_.push_back(std::move(knob));
    }
  }
  MovedJob(const MovedJob&) = delete;  // knobs point into the job
  MovedJob& operator=(const MovedJob&) = delete;

  void set(const VectorXd& x) {
    for (const Knob& knob : knobs_) set(knob, x[knob.constant]);
  }
  [[nodiscard]] double log_seconds() const {
    return std::log(step_seconds(step_costs(job_, layout_)).value());
  }

  /// Slopes of log_seconds() at x, by a span to either side; leaves x set.
  [[nodiscard]] VectorXd slopes(const VectorXd& x) {
    constexpr double span = 0.03;
    set(x);
    VectorXd slopes = VectorXd::Zero(x.size());
    for (const Knob& knob : knobs_) {
      const double at = x[knob.constant];
      const double up = set(knob, at + span);
      const double above = log_seconds();
      const double down = set(knob, at - span);
      const double below = log_seconds();
      set(knob, at);
      slopes[knob.constant] = (above - below) / (up - down);
    }
    return slopes;
  }

 private:
  struct Knob {
    Index constant;
    std::vector<ConstantRef> refs;
  };

  /// @return the logarithm that was set: no value goes beyond the largest legal one
  double set(const Knob& knob, double logarithm) {
    const OwnConstant& constant = constants_[static_cast<std::size_t>(knob.constant)];
    const double legal = std::min(logarithm, std::log(constant.most / constant.shipped));
    for (const ConstantRef& ref : knob.refs) ref.set(constant.shipped * std::exp(legal));
    return legal;
  }

  const std::vector<OwnConstant>& constants_;
  Job job_;
  StageLayout layout_;
  std::vector<Knob> knobs_;
};

/// A linear problem: z = A u + noise, u standard normal.
struct LinearRuns {
  MatrixXd slopes;
  VectorXd target;
  VectorXd factors;  ///< of the noise, own_noise_factor()
};

/// Its posterior at one scale of noise and one of widths.
struct Component {
  double log_evidence = 0.0;
  double noise = 0.0;
  VectorXd runs;     ///< weights of the rows of A in the mean
  MatrixXd inverse;  ///< of the runs' covariance
  double widths = 1.0;
};

Component component(const LinearRuns& linear, const MatrixXd& gram, double noise, double widths,
                    double tail) {
  constexpr int rounds = 12;
  const Index count = linear.target.size();
  const VectorXd scales = noise * linear.factors;
  VectorXd weight = VectorXd::Ones(count);
  Component result;
  result.noise = noise;
  result.widths = widths;
  double determinant = 0.0;
  for (int round = 0; round < rounds; ++round) {
    MatrixXd covariance = widths * gram;
    covariance.diagonal() += scales.cwiseAbs2().cwiseQuotient(weight);
    const Eigen::LDLT<MatrixXd> solver(covariance);
    result.runs = solver.solve(linear.target);
    determinant = solver.vectorD().array().log().sum();
    if (round + 1 == rounds) {
      result.inverse = solver.solve(MatrixXd::Identity(count, count));
      break;
    }
    const VectorXd left = linear.target - widths * (gram * result.runs);
    weight = (tail + 1.0) / (tail + left.cwiseQuotient(scales).array().square());
  }
  result.log_evidence = -0.5 * linear.target.dot(result.runs) - 0.5 * determinant;
  // Student's t as a normal whose precision is gamma distributed.
  result.log_evidence += 0.5 * tail * (weight.array().log() - weight.array() + 1.0).sum();
  return result;
}

/// Scales of noise and widths that are averaged over, in deviations of their logarithms.
constexpr auto grid = std::to_array({-2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0});
constexpr double distance_spread = 1.0;  // of ln(variance) by which clusters are further off

struct Averaged {
  VectorXd mean;
  MatrixXd covariance;
  double noise = 0.0;
};

/// @param whole false: the mean alone
Averaged average(const LinearRuns& linear, const OwnNoise& noise, bool whole) {
  const MatrixXd gram = linear.slopes * linear.slopes.transpose();
  std::vector<Component> components;
  double best = -1e300;
  for (const double n : grid)
    for (const double w : grid) {
      components.push_back(component(linear, gram, noise.median * std::exp(noise.spread * n),
                                     std::exp(distance_spread * w), noise.tail));
      components.back().log_evidence -= 0.5 * (n * n + w * w);
      best = std::max(best, components.back().log_evidence);
    }
  double total = 0.0;
  for (Component& one : components) total += one.log_evidence = std::exp(one.log_evidence - best);
  const Index variables = linear.slopes.cols();
  Averaged result{VectorXd::Zero(variables), {}, 0.0};
  if (whole) result.covariance = MatrixXd::Zero(variables, variables);
  MatrixXd middle = MatrixXd::Zero(gram.rows(), gram.cols());
  MatrixXd means = MatrixXd::Zero(gram.rows(), gram.cols());
  VectorXd runs = VectorXd::Zero(gram.rows());
  double widths = 0.0;
  for (const Component& one : components) {
    const double share = one.log_evidence / total;
    const VectorXd mean = one.widths * one.runs;
    runs += share * mean;
    means += share * mean * mean.transpose();
    middle += share * one.widths * one.widths * one.inverse;
    widths += share * one.widths;
    result.noise += share * std::log(one.noise);
  }
  result.noise = std::exp(result.noise);
  result.mean = linear.slopes.transpose() * runs;
  if (whole) {
    result.covariance =
        linear.slopes.transpose() * (means - runs * runs.transpose() - middle) * linear.slopes;
    result.covariance.diagonal().array() += widths;
  }
  return result;
}

VectorXd widths_of(const std::vector<OwnConstant>& constants) {
  VectorXd widths(static_cast<Index>(constants.size()));
  for (Index i = 0; i < widths.size(); ++i)
    widths[i] = constants[static_cast<std::size_t>(i)].width;
  return widths;
}

VectorXd logarithms(const std::vector<OwnConstant>& constants, const std::vector<double>& values) {
  FORETRAIN_REQUIRE(constants.size() == values.size());
  VectorXd x(static_cast<Index>(values.size()));
  for (std::size_t i = 0; i < values.size(); ++i)
    x[static_cast<Index>(i)] = std::log(values[i] / constants[i].shipped);
  return x;
}

}  // namespace

OwnPosterior fit_own(const std::vector<OwnConstant>& constants, const std::vector<OwnRun>& runs,
                     const OwnNoise& noise) {
  FORETRAIN_REQUIRE(!runs.empty());
  constexpr int iterations = 12;
  constexpr double furthest = 0.5;  // of ln(constant) in one iteration
  constexpr double settled = 0.005;
  const VectorXd widths = widths_of(constants);
  const auto variables = static_cast<Index>(constants.size());
  const auto count = static_cast<Index>(runs.size());
  std::vector<std::unique_ptr<MovedJob>> jobs;
  for (const OwnRun& run : runs) jobs.push_back(std::make_unique<MovedJob>(constants, run.job));
  VectorXd x = VectorXd::Zero(variables);
  LinearRuns linear{MatrixXd(count, variables), VectorXd(count), VectorXd(count)};
  for (Index i = 0; i < count; ++i)
    linear.factors[i] = own_noise_factor(runs[static_cast<std::size_t>(i)].job);
  double pace = 1.0;
  double last = 1e300;
  for (int iteration = 0; iteration < iterations; ++iteration) {
    for (Index i = 0; i < count; ++i) {
      MovedJob& job = *jobs[static_cast<std::size_t>(i)];
      const VectorXd slopes = job.slopes(x);
      linear.slopes.row(i) = slopes.cwiseProduct(widths).transpose();
      linear.target[i] =
          std::log(runs[static_cast<std::size_t>(i)].measured) - job.log_seconds() + slopes.dot(x);
    }
    const VectorXd to = average(linear, noise, false).mean.cwiseProduct(widths);
    const VectorXd move = (to - x).cwiseMax(-furthest).cwiseMin(furthest);
    const double moved = (linear.slopes * move.cwiseQuotient(widths)).cwiseAbs().maxCoeff();
    if (moved > 0.9 * last) pace *= 0.5;  // around a kink
    last = moved;
    x += pace * move;
    for (Index j = 0; j < variables; ++j) {
      const OwnConstant& constant = constants[static_cast<std::size_t>(j)];
      x[j] = std::min(x[j], std::log(constant.most / constant.shipped));
    }
    if (moved < settled * noise.median) break;
  }
  const Averaged end = average(linear, noise, true);
  OwnPosterior posterior;
  for (std::size_t i = 0; i < constants.size(); ++i)
    posterior.values.push_back(constants[i].shipped * std::exp(x[static_cast<Index>(i)]));
  for (Index i = 0; i < variables; ++i)
    for (Index j = 0; j < variables; ++j)
      posterior.covariance.push_back(widths[i] * end.covariance(i, j) * widths[j]);
  posterior.noise = end.noise;
  return posterior;
}

std::vector<double> left_out_own(const std::vector<OwnConstant>& constants,
                                 const std::vector<OwnRun>& runs, const OwnNoise& noise) {
  FORETRAIN_REQUIRE(runs.size() >= 2);
  constexpr std::size_t most = 12;
  const std::size_t groups = std::min(runs.size(), most);
  std::vector<double> seconds(runs.size());
  for (std::size_t group = 0; group < groups; ++group) {
    std::vector<OwnRun> others;
    for (std::size_t i = 0; i < runs.size(); ++i)
      if (i % groups != group) others.push_back(runs[i]);
    const OwnPosterior posterior = fit_own(constants, others, noise);
    for (std::size_t i = group; i < runs.size(); i += groups)
      seconds[i] = seconds_with(constants, posterior.values, runs[i].job);
  }
  return seconds;
}

double seconds_with(const std::vector<OwnConstant>& constants, const std::vector<double>& values,
                    const Job& job) {
  MovedJob moved(constants, job);
  moved.set(logarithms(constants, values));
  return std::exp(moved.log_seconds());
}

std::vector<double> slopes_at(const std::vector<OwnConstant>& constants,
                              const std::vector<double>& values, const Job& job) {
  MovedJob moved(constants, job);
  const VectorXd slopes = moved.slopes(logarithms(constants, values));
  return {slopes.begin(), slopes.end()};
}

double shared_variance(const OwnPosterior& posterior, const std::vector<double>& one,
                       const std::vector<double>& other) {
  FORETRAIN_REQUIRE(one.size() == posterior.values.size() && other.size() == one.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i)
    for (std::size_t j = 0; j < other.size(); ++j)
      sum += one[i] * posterior.covariance[i * other.size() + j] * other[j];
  return sum;
}

double deviation_of(const OwnPosterior& posterior, std::size_t index) {
  FORETRAIN_REQUIRE(index < posterior.values.size());
  return std::sqrt(std::max(0.0, posterior.covariance[index * posterior.values.size() + index]));
}

OwnPosterior belief_before(const std::vector<OwnConstant>& constants, const OwnNoise& noise) {
  // The mean of the factor on all variances, which is lognormal.
  const double mean_distance = std::exp(0.5 * distance_spread * distance_spread);
  OwnPosterior belief{{}, std::vector<double>(constants.size() * constants.size()), noise.median};
  for (std::size_t i = 0; i < constants.size(); ++i) {
    belief.values.push_back(constants[i].shipped);
    belief.covariance[i * constants.size() + i] =
        constants[i].width * constants[i].width * mean_distance;
  }
  return belief;
}

}  // namespace foretrain
