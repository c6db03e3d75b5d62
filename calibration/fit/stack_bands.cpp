// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/stack_bands.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "models/base/percentile.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// A ratio and what it counts.
struct Weighted {
  double ratio;
  double weight;
};

double quantile(const std::vector<Weighted>& sorted, double share) {
  constexpr double slack = 1e-9;  // sums of weights differ in their last bits
  double total = 0.0;
  for (const Weighted& item : sorted) total += item.weight;
  double sum = 0.0;
  for (const Weighted& item : sorted) {
    sum += item.weight;
    if (sum >= share * total * (1.0 - slack)) return item.ratio;
  }
  return sorted.back().ratio;
}

/// The 10th and 90th percentile of the stack's records together with a prior for stacks with few:
/// as many as plan.band_rows spread as a normal distribution of plan.band_width.
FittedBand band_of(const FitPlan& plan, const std::string& stack, std::vector<Weighted> ratios) {
  constexpr double repeats = 0.03;  // runs of one configuration differ by that much
  FittedBand band{stack, static_cast<int>(ratios.size())};
  std::vector<double> errors;
  for (const Weighted& item : ratios) errors.push_back(std::abs(1.0 / item.ratio - 1.0));
  band.error = percentile_of(errors, 0.5);
  // Normal quantiles at 5, 15, ... 95 %.
  constexpr auto deviations =
      std::to_array({-1.645, -1.036, -0.674, -0.385, -0.126, 0.126, 0.385, 0.674, 1.036, 1.645});
  for (const double deviation : deviations)
    ratios.push_back({std::exp(plan.band_width * deviation),
                      plan.band_rows / static_cast<double>(deviations.size())});
  std::sort(ratios.begin(), ratios.end(),
            [](const Weighted& a, const Weighted& b) { return a.ratio < b.ratio; });
  const auto rounded = [](double value) { return std::round(value * 1000.0) / 1000.0; };
  band.low = rounded(std::min(quantile(ratios, 0.1), 1.0 - repeats));
  band.high = rounded(std::max(quantile(ratios, 0.9), 1.0 + repeats));
  band.error = rounded(band.error);
  return band;
}

}  // namespace

std::vector<FittedBand> stack_bands(const FitPlan& plan, const FitProblem& problem,
                                    const VectorXd& weights, const std::vector<double>& seconds) {
  std::map<std::string, std::vector<Weighted>> dense;
  std::map<std::string, std::vector<Weighted>> all;
  for (std::size_t row = 0; row < problem.rows(); ++row) {
    const Weighted ratio{problem.check(row).measured / seconds[row],
                         weights[static_cast<Index>(row)]};
    if (ratio.weight <= 0.0) continue;
    all[problem.job(row).stack.name].push_back(ratio);
    if (!problem.job(row).model.moe) dense[problem.job(row).stack.name].push_back(ratio);
  }
  dense.merge(all);
  std::vector<FittedBand> bands;
  for (const ProfileRef& profile : plan.profiles()) {
    const auto found = dense.find(profile.name);
    if (profile.layer != ProfileLayer::stack || found == dense.end()) continue;
    bands.push_back(band_of(plan, profile.name, found->second));
  }
  return bands;
}

}  // namespace foretrain
