// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/numeric_fit.hpp"

#include <fmt/format.h>
#include <Eigen/Dense>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <numeric>

#include "calibration/fit/fit_stop.hpp"
#include "calibration/fit/internal/robust_fit.hpp"
#include "models/base/percentile.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double tail = 2.0;  // in units of noise: from there an error counts linearly

Eigen::VectorXd as_vector(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}

}  // namespace

int digits_for(double value, double deviation, int least) {
  constexpr int most = 6;
  constexpr double share = 0.05;
  FORETRAIN_REQUIRE(value > 0.0 && deviation > 0.0);
  const double lead = value / std::pow(10.0, std::floor(std::log10(value)));
  int digits = least;
  while (digits < most && 0.5 * std::pow(10.0, 1 - digits) / lead > share * deviation) ++digits;
  return digits;
}

double rounded(double value, int digits) {
  return std::strtod(fmt::format("{:.{}e}", value, digits - 1).c_str(), nullptr);
}

namespace {

/// Measurements and priors as robust_fit() takes them.
class NumericProblem {
 public:
  NumericProblem(const LogResiduals& residuals, const std::vector<double>& weights,
                 const NumericOptions& options)
      : residuals_{residuals}, count_{weights.size()}, options_{options} {}

  [[nodiscard]] Eigen::VectorXd at(const Eigen::VectorXd& x) const {
    return as_vector(errors(x)) / options_.noise;
  }

  const ResidualPlanes& planes(const Eigen::VectorXd& x, const Eigen::VectorXd& spans,
                               const Eigen::VectorXd& low, const Eigen::VectorXd& high);

 private:
  [[nodiscard]] static std::vector<double> values_of(const Eigen::VectorXd& x) {
    std::vector<double> values(static_cast<std::size_t>(x.size()));
    for (Eigen::Index i = 0; i < x.size(); ++i)
      values[static_cast<std::size_t>(i)] = std::exp(x[i]);
    return values;
  }

  [[nodiscard]] std::vector<double> errors(const Eigen::VectorXd& x) const {
    FitStop::check();
    std::vector<double> found = residuals_(values_of(x));
    FORETRAIN_REQUIRE(found.size() == count_);
    return found;
  }

  /// Errors where one constant alone differs from those of `here`.
  [[nodiscard]] Eigen::VectorXd beside(const Eigen::VectorXd& x, Eigen::Index constant,
                                       const std::vector<double>& here) const {
    if (!options_.moved) return at(x);
    std::vector<double> found = here;
    options_.moved(values_of(x), static_cast<std::size_t>(constant), found);
    return as_vector(found) / options_.noise;
  }

  const LogResiduals& residuals_;
  std::size_t count_;
  const NumericOptions& options_;
  ResidualPlanes planes_;
};

const ResidualPlanes& NumericProblem::planes(const Eigen::VectorXd& x, const Eigen::VectorXd& spans,
                                             const Eigen::VectorXd& low,
                                             const Eigen::VectorXd& high) {
  const Eigen::Index count = x.size();
  const std::vector<double> here = options_.moved ? errors(x) : std::vector<double>{};
  planes_.values = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(count_));
  planes_.slopes.resize(planes_.values.size(), count);
  for (Eigen::Index i = 0; i < count; ++i) {
    Eigen::VectorXd above = x;
    Eigen::VectorXd below = x;
    above[i] = std::min(x[i] + options_.side * spans[i], high[i]);
    below[i] = std::max(x[i] - options_.side * spans[i], low[i]);
    const Eigen::VectorXd more = beside(above, i, here);
    const Eigen::VectorXd less = beside(below, i, here);
    planes_.slopes.col(i) = (more - less) / (above[i] - below[i]);
    planes_.values +=
        (less + (x[i] - below[i]) * planes_.slopes.col(i)) / static_cast<double>(count);
  }
  return planes_;
}

/// @return the priors' middles
Eigen::VectorXd set_priors(const std::vector<NumericConstant>& constants, RobustProblem& problem) {
  const auto count = static_cast<Eigen::Index>(constants.size());
  Eigen::VectorXd start(count);
  problem.prior_rows = Eigen::MatrixXd::Zero(count, count);
  problem.prior_values = Eigen::VectorXd::Zero(count);
  problem.low = Eigen::VectorXd::Zero(count);
  problem.high = Eigen::VectorXd::Zero(count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const NumericConstant& constant = constants[static_cast<std::size_t>(i)];
    start[i] = std::log(constant.start);
    problem.prior_rows(i, i) = 1.0 / constant.width;
    problem.prior_values[i] = start[i] / constant.width;
    problem.low[i] = std::log(constant.low);
    problem.high[i] = std::log(constant.high);
  }
  return start;
}

RobustSolution solved(const RobustProblem& problem, const Eigen::VectorXd& start,
                      const NumericOptions& options) {
  RobustOptions search{.step = options.settled, .derivatives = options.derivatives};
  if (options.near.empty()) return best_fit(problem, start, options.starts, search);
  search.spans = as_vector(options.near_deviations);
  return robust_fit(problem, as_vector(options.near).array().log().matrix(), search);
}

}  // namespace

NumericFit numeric_fit(const std::vector<NumericConstant>& constants, const LogResiduals& residuals,
                       const std::vector<double>& weights, const NumericOptions& options) {
  NumericProblem measured{residuals, weights, options};
  RobustProblem problem;
  problem.weights = as_vector(weights);
  problem.scale = tail;
  const Eigen::VectorXd start = set_priors(constants, problem);
  problem.residuals = [&](const Eigen::VectorXd& x) { return measured.at(x); };
  problem.planes = [&](const Eigen::VectorXd& x, const Eigen::VectorXd& spans,
                       bool) -> const ResidualPlanes& {
    return measured.planes(x, spans, problem.low, problem.high);
  };
  const RobustSolution solution = solved(problem, start, options);
  NumericFit fit;
  fit.converged = solution.converged;
  const Eigen::MatrixXd said = said_by_rows(problem, solution);
  for (Eigen::Index i = 0; i < solution.x.size(); ++i) {
    const double value = std::exp(solution.x[i]);
    fit.deviations.push_back(solution.deviations[i]);
    fit.said.emplace_back(said.col(i).begin(), said.col(i).end());
    fit.at_bound.push_back(solution.x[i] <= problem.low[i] || solution.x[i] >= problem.high[i]);
    fit.values.push_back(rounded(value, digits_for(value, solution.deviations[i], options.digits)));
  }
  return fit;
}

ConstantEvidence evidence_of(const std::vector<double>& said,
                             const std::vector<FitRecord>& records) {
  constexpr double most = 0.9;
  FORETRAIN_REQUIRE(said.size() == records.size());
  ConstantEvidence evidence;
  const double all = std::accumulate(said.begin(), said.end(), 0.0);
  // Beside the prior, which says 1: less is the rounding of slopes that are nothing.
  constexpr double rounding = 1e-12;
  if (!(all > rounding)) return evidence;
  std::map<std::string, double> shares;
  for (std::size_t i = 0; i < said.size(); ++i) shares[records[i].source] += said[i] / all;
  evidence.sources = {shares.begin(), shares.end()};
  std::ranges::stable_sort(evidence.sources,
                           [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::size_t> order(said.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return said[a] > said[b]; });
  for (double sum = 0.0; sum < most * all; ++evidence.records) {
    const std::size_t next = order.at(static_cast<std::size_t>(evidence.records));
    sum += said[next];
    evidence.reach.add(records[next]);
  }
  evidence.record = records[order.front()].id;
  return evidence;
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
  errors.median = percentile_of(sizes, 0.5);
  errors.p90 = percentile_of(sizes, 0.9);
  errors.low = percentile_of(ratios, 0.1);
  errors.high = percentile_of(ratios, 0.9);
  return errors;
}

}  // namespace foretrain
