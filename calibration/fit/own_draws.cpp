// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/own_draws.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "calibration/fit/fold_cache.hpp"
#include "models/base/parallel.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Which runs are drawn, the first `count` of a shuffle.
std::vector<std::size_t> drawn(std::size_t runs, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> order(runs);
  for (std::size_t i = 0; i < runs; ++i) order[i] = i;
  for (std::size_t i = 0; i < count; ++i) std::swap(order[i], order[i + random() % (runs - i)]);
  return order;
}

/// Mean absolute error of the others, after a fit to the first `count` of `order`.
double error_of_others(const std::vector<OwnRun>& runs, const std::vector<std::size_t>& order,
                       std::size_t count, const StatedDeviations& stated) {
  std::vector<OwnRun> own;
  std::vector<const Job*> jobs;
  for (std::size_t i = 0; i < count; ++i) own.push_back(runs[order[i]]);
  for (const OwnRun& run : own) jobs.push_back(&run.job);
  const std::vector<OwnConstant> constants = own_constants(jobs, stated);
  const OwnPosterior posterior = fit_own(constants, own);
  double sum = 0.0;
  for (std::size_t i = count; i < order.size(); ++i) {
    const OwnRun& other = runs[order[i]];
    sum += std::abs(seconds_with(constants, posterior.values, other.job) / other.measured - 1.0);
  }
  return sum / static_cast<double>(order.size() - count);
}

std::uint64_t seed_of(const std::string& name, int fitted, int draw) {
  Fingerprint seed;
  seed.add(name);
  seed.add(static_cast<double>(fitted));
  seed.add(static_cast<double>(draw));
  return seed.value();
}

// The mean error of the runs that were not drawn, over draws of so many to fit on; -1 where that
// leaves none.
double error_after(const std::vector<OwnRun>& own, int fitted, const std::string& source,
                   const StatedDeviations& stated, const OwnDrawsOptions& options) {
  const auto count = static_cast<std::size_t>(fitted);
  if (own.size() <= count) return -1.0;
  std::vector<double> errors(static_cast<std::size_t>(options.draws));
  parallel_for(errors.size(), 0, [&](std::size_t draw) {
    if (options.stop != nullptr && *options.stop) return;
    const auto order = drawn(own.size(), count, seed_of(source, fitted, static_cast<int>(draw)));
    errors[draw] = error_of_others(own, order, count, stated);
  });
  if (options.stop != nullptr && *options.stop) return -1.0;  // not all were made
  return std::accumulate(errors.begin(), errors.end(), 0.0) / static_cast<double>(options.draws);
}

/// Deviations of a plan's constants, as profiles would state them.
StatedDeviations stated_deviations(const FitPlan& plan, const std::vector<double>& deviations) {
  FORETRAIN_REQUIRE(deviations.size() == plan.constants.size());
  StatedDeviations stated;
  for (std::size_t i = 0; i < deviations.size(); ++i)
    for (const ProfileRef& profile : plan.constants[i].profiles)
      for (const std::string& key : plan.constants[i].keys) stated[profile][key] = deviations[i];
  return stated;
}

/// The jobs of these runs with a plan's constants set.
std::vector<OwnRun> own_runs_with(const FitPlan& plan, const std::vector<double>& values,
                                  const std::vector<const StepRun*>& runs) {
  FORETRAIN_REQUIRE(values.size() == plan.constants.size());
  std::vector<OwnRun> own;
  for (const StepRun* run : runs) {
    own.push_back({*run->job, run->check.measured});
    Job& job = own.back().job;
    for (std::size_t i = 0; i < values.size(); ++i)
      for (const ProfileRef& profile : plan.constants[i].profiles)
        if (uses(job, profile))
          for (const std::string& key : plan.constants[i].keys)
            if (const auto found = constant_of(profile, key, job)) found->set(values[i]);
  }
  return own;
}

}  // namespace

OwnDraws draw_own(const FitPlan& plan, const std::vector<StepRun>& runs, const FoldConstants& fold,
                  const OwnDrawsOptions& options) {
  std::vector<const StepRun*> of;
  std::size_t row = 0;
  for (const StepRun& run : runs) {
    if (!run.job) continue;
    if (fold.fold.asked.at(row)) of.push_back(&run);
    ++row;
  }
  const std::vector<OwnRun> own = own_runs_with(plan, fold.values, of);
  const StatedDeviations stated = stated_deviations(plan, fold.deviations);
  OwnDraws result{fold.fold.name, static_cast<int>(own.size()), 0.0, {}};
  for (const OwnRun& run : own)
    result.before += std::abs(seconds_with({}, {}, run.job) / run.measured - 1.0) /
                     static_cast<double>(own.size());
  for (const int fitted : options.fitted)
    result.after.push_back(error_after(own, fitted, result.source, stated, options));
  return result;
}

}  // namespace foretrain
