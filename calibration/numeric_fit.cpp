// SPDX-License-Identifier: Apache-2.0
#include "calibration/internal/numeric_fit.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "calibration/internal/robust_fit.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace {

constexpr double noise = 0.03;  // repeated kernels and collectives differ by as much
constexpr double tail = 2.0;    // in units of noise: from there an error counts linearly
constexpr double step = 1e-3;   // of the central differences; whole tiles and waves make steps
constexpr int derivatives = 30;

Eigen::VectorXd as_vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

double at_share(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(std::lround(q * static_cast<double>(sorted.size() - 1)))];
}

}  // namespace

double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

std::vector<double> numeric_fit(const std::vector<NumericConstant>& constants,
                                const LogResiduals& residuals, const std::vector<double>& weights,
                                int digits) {
  const auto count = static_cast<Eigen::Index>(constants.size());
  const auto at = [&](const Eigen::VectorXd& x) {
    std::vector<double> values(constants.size());
    for (Eigen::Index i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = std::exp(x[i]);
    const std::vector<double> errors = residuals(values);
    FORETRAIN_REQUIRE(errors.size() == weights.size());
    return Eigen::VectorXd(as_vector(errors) / noise);
  };
  RobustProblem problem;
  problem.residuals = at;
  Eigen::MatrixXd derived;
  problem.jacobian = [&](const Eigen::VectorXd& x, bool) -> const Eigen::MatrixXd& {
    derived.resize(static_cast<Eigen::Index>(weights.size()), count);
    for (Eigen::Index i = 0; i < count; ++i) {
      Eigen::VectorXd above = x;
      Eigen::VectorXd below = x;
      above[i] += step;
      below[i] -= step;
      derived.col(i) = (at(above) - at(below)) / (2.0 * step);
    }
    return derived;
  };
  problem.weights = as_vector(weights);
  problem.scale = tail;
  problem.prior_rows = Eigen::MatrixXd::Zero(count, count);
  problem.prior_values = Eigen::VectorXd::Zero(count);
  problem.low = Eigen::VectorXd::Zero(count);
  problem.high = Eigen::VectorXd::Zero(count);
  Eigen::VectorXd start(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const NumericConstant& constant = constants[static_cast<std::size_t>(i)];
    start[i] = std::log(constant.start);
    problem.prior_rows(i, i) = 1.0 / constant.width;
    problem.prior_values[i] = start[i] / constant.width;
    problem.low[i] = std::log(constant.low);
    problem.high[i] = std::log(constant.high);
  }
  RobustOptions options;
  options.step = 1e-5;
  options.derivatives = derivatives;
  const RobustSolution solution = robust_fit(problem, start, options);
  std::vector<double> values;
  for (Eigen::Index i = 0; i < count; ++i)
    values.push_back(rounded(std::exp(solution.x[i]), digits));
  return values;
}

FitErrors fit_errors(const std::vector<double>& log_residuals) {
  FitErrors errors;
  errors.count = static_cast<int>(log_residuals.size());
  if (log_residuals.empty()) return errors;
  std::vector<double> sizes;
  std::vector<double> ratios;
  for (const double residual : log_residuals) {
    const double error = std::exp(residual) - 1.0;
    errors.bias += error / errors.count;
    errors.mape += std::abs(error) / errors.count;
    sizes.push_back(std::abs(error));
    ratios.push_back(std::exp(-residual));
  }
  std::sort(sizes.begin(), sizes.end());
  std::sort(ratios.begin(), ratios.end());
  errors.median = at_share(sizes, 0.5);
  errors.p90 = at_share(sizes, 0.9);
  errors.low = at_share(ratios, 0.1);
  errors.high = at_share(ratios, 0.9);
  return errors;
}

}  // namespace foretrain
