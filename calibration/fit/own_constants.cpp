// SPDX-License-Identifier: Apache-2.0

#include "calibration/fit/own_constants.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <random>
#include <string_view>

#include "calibration/fit/fold.hpp"
#include "calibration/fit/own_fit.hpp"
#include "models/base/parallel.hpp"
#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

/// How far clusters, releases and their settings differ from what the shipped records showed: a
/// standard deviation of ln(constant).
struct Spread {
  std::string_view layer_and_key;  ///< how "site/across.share" begins
  double measured;                 ///< where the profile was measured
  double unmeasured;
};

// The first line that fits counts. docs/own-runs.md, "How far clusters differ".
constexpr auto spreads = std::to_array<Spread>({
    {"site/clock", 0.04, 0.04},
    {"site/wait", 0.3, 0.8},
    {"site/across.share", 0.05, 1.0},
    {"site/lone_share", 0.05, 1.0},
    {"site/send_share", 0.05, 1.0},
    {"site/across.", 0.1, 0.5},
    {"device/gemm.", 0.04, 0.08},
    {"device/attention.", 0.03, 0.1},
    {"device/memory_efficiency", 0.02, 0.05},
    {"device/inside.share", 0.1, 0.2},
    {"device/inside.", 0.2, 0.3},
    {"stack/times.release", 0.01, 0.03},
    {"stack/times.launch", 0.7, 0.7},
    {"stack/times.step_constant", 0.9, 1.0},
    {"stack/times.layer_fixed", 0.7, 0.7},
    {"stack/times.head_fixed", 0.7, 0.7},
    {"stack/times.shard_update", 0.7, 0.7},
    {"stack/times.expert_latency", 0.7, 0.7},
    {"stack/times.expert_elementwise", 0.05, 0.2},
    {"stack/times.shard_bus", 0.1, 0.2},
    {"stack/", 0.05, 0.2},
});

constexpr std::string_view half_products = "gemm.fp16.sustained";
constexpr std::string_view other_half_products = "gemm.bf16.sustained";

Trust trust_of(const ProfileRef& profile, const Job& job) {
  if (profile.layer == ProfileLayer::stack) return job.stack.provenance.trust;
  if (profile.layer == ProfileLayer::site) return job.site.provenance.trust;
  return job.device_profile.provenance.trust;
}

double spread_of(const ProfileRef& profile, const std::string& key, const Job& job) {
  const std::string name = std::string(name_of(profile.layer)) + "/" + key;
  const Trust trust = trust_of(profile, job);
  const bool known = trust == Trust::measured ||
                     (trust == Trust::interpolated && profile.layer != ProfileLayer::site);
  for (const Spread& spread : spreads)
    if (name.starts_with(spread.layer_and_key)) return known ? spread.measured : spread.unmeasured;
  return 0.0;
}

double stated_of(const StatedDeviations& stated, const ProfileRef& profile,
                 const std::string& key) {
  const auto own = stated.find(profile);
  if (own == stated.end()) return 0.0;
  const auto found = own->second.find(key);
  return found == own->second.end() ? 0.0 : found->second;
}

void add_constants(const ProfileRef& profile, Job& job, const StatedDeviations& stated,
                   std::vector<OwnConstant>& constants) {
  for (const std::string& key : constant_keys(profile.layer)) {
    const auto found = constant_of(profile, key, job);
    if (!found || !(found->get() > 0.0)) continue;
    OwnConstant constant{profile, {key}, found->get(), 0.0, most_of(profile.layer, key)};
    constant.width = std::hypot(stated_of(stated, profile, key), spread_of(profile, key, job));
    if (!(constant.width > 0.0)) continue;
    // Both 16-bit formats run at one clock.
    const bool joins = key == other_half_products && !constants.empty() &&
                       constants.back().profile == profile &&
                       constants.back().keys.front() == half_products &&
                       constants.back().shipped == constant.shipped;
    if (joins)
      constants.back().keys.push_back(key);
    else
      constants.push_back(std::move(constant));
  }
}

// In units of the noise of a plain run: of a run with expert ranks, of each doubling of context
// ranks, and of a step that is launches or exchanges of gradients alone.
// calibration/docs/own-runs.md.
constexpr double of_experts = 2.0;
constexpr double of_context_doubling = 2.0;
constexpr double of_launches = 5.0;
constexpr double of_gradients = 12.0;

}  // namespace

std::string OwnConstant::text() const {
  std::string text = profile.text();
  for (const std::string& key : keys) text += (&key == &keys.front() ? " " : ", ") + key;
  return text;
}

std::vector<OwnConstant> own_constants(const std::vector<const Job*>& jobs,
                                       const StatedDeviations& stated) {
  std::map<ProfileRef, const Job*> profiles;
  for (const Job* job : jobs) {
    profiles.emplace(ProfileRef{ProfileLayer::device, job->device_profile.name}, job);
    profiles.emplace(ProfileRef{ProfileLayer::stack, job->stack.name}, job);
    profiles.emplace(ProfileRef{ProfileLayer::site, job->site.name}, job);
  }
  std::vector<OwnConstant> constants;
  for (const auto& [profile, job] : profiles) {
    Job copy = *job;
    add_constants(profile, copy, stated, constants);
  }
  return constants;
}

double own_noise_factor(const Job& job) {
  const StepForecast step = step_time(job, stage_layout(job.model, job.parallel));
  double variance = 1.0;
  const auto add = [&](double factor) { variance += factor * factor; };
  if (job.parallel.expert > 1) add(of_experts);
  add(of_context_doubling * std::log2(job.parallel.context));
  add(of_launches * (step.breakdown.launch / step.time));
  add(of_gradients * (step.breakdown.data / step.time));
  return std::sqrt(variance);
}

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
