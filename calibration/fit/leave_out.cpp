// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/leave_out.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "calibration/fit/fold.hpp"
#include "calibration/fit/internal/fit_problem.hpp"
#include "calibration/fit/internal/robust_fit.hpp"
#include "models/base/require.hpp"
#include "models/forecast/band.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

using Rows = std::vector<bool>;

/// Counts changes of how folds are fitted, which their inputs do not show.
constexpr double fitted_how = 2.0;

/// What a fit without a fold's rows gives.
struct Refit {
  std::vector<double> seconds;  ///< of the rows that the fold asks about
  /// What it leaves of the rows that stay, by stack: as StackProfile::band_low and band_high.
  std::map<std::string, std::pair<double, double>> residuals;
};

/// Refits without some rows, starting from the fit of all.
class Refitter {
 public:
  Refitter(const FitPlan& plan, const std::vector<StepRun>& runs, const LeaveOutOptions& options)
      : plan_{plan},
        problem_{plan, runs, options.stop},
        weights_{problem_.weights()},
        cache_{options.cache} {
    inputs_.add(fitted_how);
    problem_.add_to(inputs_, weights_);
  }

  [[nodiscard]] const FitProblem& problem() const { return problem_; }

  /// What is kept of the fold from an earlier run.
  [[nodiscard]] std::optional<Refit> kept(const Fold& fold) const {
    const std::vector<std::string> stacks = stacks_without(fold);
    const auto values = cache_.find(key_of(fold), names_of(fold, stacks));
    if (!values) return std::nullopt;
    const auto ends = values->end() - static_cast<std::ptrdiff_t>(2 * stacks.size());
    Refit refit{{values->begin(), ends}, {}};
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const auto end = ends + static_cast<std::ptrdiff_t>(2 * i);
      refit.residuals[stacks[i]] = {*end, *(end + 1)};
    }
    return refit;
  }

  Refit without(const Fold& fold) {
    const std::vector<double> all = problem_.seconds(logarithms(fit_without(fold)));
    Refit refit;
    for (std::size_t row = 0; row < all.size(); ++row)
      if (fold.asked[row]) refit.seconds.push_back(all[row]);
    for (const FittedBand& band : stack_bands(plan_, problem_, problem_.weights(fold.out), all))
      refit.residuals[band.stack] = {band.low, band.high};
    keep(fold, refit);
    return refit;
  }

  /// What an earlier run kept of constants_without().
  [[nodiscard]] std::optional<FoldConstants> constants_kept(const Fold& fold) const {
    const auto values = cache_.find(constants_key(fold), constant_names());
    if (!values) return std::nullopt;
    const auto half = static_cast<std::ptrdiff_t>(plan_.constants.size());
    return FoldConstants{
        fold, {values->begin(), values->begin() + half}, {values->begin() + half, values->end()}};
  }

  FoldConstants constants_without(const Fold& fold) {
    FoldConstants fitted = fit_without(fold);
    std::vector<double> values = fitted.values;
    values.insert(values.end(), fitted.deviations.begin(), fitted.deviations.end());
    cache_.keep(constants_key(fold), constant_names(), values);
    return fitted;
  }

 private:
  [[nodiscard]] std::uint64_t key_of(const Fold& fold) const {
    Fingerprint key = inputs_;
    key.add(fold.out);
    key.add(fold.asked);
    return key.value();
  }

  /// Stacks with a free constant and a row that stays, by name.
  [[nodiscard]] std::vector<std::string> stacks_without(const Fold& fold) const {
    const VectorXd weights = problem_.weights(fold.out);
    std::set<std::string> stacks;
    for (const ProfileRef& profile : plan_.profiles())
      for (std::size_t row = 0; row < problem_.rows(); ++row)
        if (profile.layer == ProfileLayer::stack && weights[static_cast<Index>(row)] > 0.0 &&
            problem_.job(row).stack.name == profile.name)
          stacks.insert(profile.name);
    return {stacks.begin(), stacks.end()};
  }

  [[nodiscard]] std::vector<std::string> names_of(const Fold& fold,
                                                  const std::vector<std::string>& stacks) const {
    FORETRAIN_REQUIRE(fold.asked.size() == problem_.rows());
    std::vector<std::string> names;
    for (std::size_t row = 0; row < fold.asked.size(); ++row)
      if (fold.asked[row]) names.push_back(problem_.check(row).id);
    for (const std::string& stack : stacks)
      for (const char* end : {"low of ", "high of "}) names.push_back(end + stack);
    return names;
  }

  void keep(const Fold& fold, const Refit& refit) const {
    std::vector<double> values = refit.seconds;
    std::vector<std::string> stacks;
    for (const auto& [stack, ends] : refit.residuals) {
      stacks.push_back(stack);
      values.insert(values.end(), {ends.first, ends.second});
    }
    cache_.keep(key_of(fold), names_of(fold, stacks), values);
  }

  [[nodiscard]] std::uint64_t constants_key(const Fold& fold) const {
    Fingerprint key = inputs_;
    key.add(fold.out);
    return key.value();
  }

  /// Of values and deviations of all constants.
  [[nodiscard]] std::vector<std::string> constant_names() const {
    std::vector<std::string> names;
    for (const char* of : {"", "deviation of "})
      for (const FitConstant& constant : plan_.constants) names.push_back(of + constant.text());
    return names;
  }

  [[nodiscard]] static VectorXd logarithms(const FoldConstants& constants) {
    VectorXd x(static_cast<Index>(constants.values.size()));
    for (std::size_t i = 0; i < constants.values.size(); ++i)
      x[static_cast<Index>(i)] = std::log(constants.values[i]);
    return x;
  }

  FoldConstants fit_without(const Fold& fold) {
    constexpr double step = 0.05;  // of deviations: a hundredth of what a forecast may be off by
    constexpr double close_by = 0.03;  // slopes hold that far
    if (!planes_) fit_all();
    VectorXd weights = problem_.weights(fold.out);
    const Rows near = problem_.connected(fold.out);
    for (std::size_t i = 0; i < fold.out.size(); ++i)
      if (!near[i]) weights[static_cast<Index>(i)] = 0.0;
    problem_.take(*planes_);
    const RobustProblem robust = problem_.with(weights, close_by);
    const RobustSolution solution =
        robust_fit(robust, all_.x, {.step = step, .derivatives = 20, .spans = all_.deviations});
    const std::vector<bool> moved = problem_.variables_of(near);
    FoldConstants fitted{fold, {}, {}};
    for (Index i = 0; i < solution.x.size(); ++i) {
      const RobustSolution& from = moved[static_cast<std::size_t>(i)] ? solution : all_;
      fitted.values.push_back(std::exp(solution.x[i]));
      fitted.deviations.push_back(from.deviations[i]);
    }
    return fitted;
  }

  void fit_all() {
    const std::vector<std::string> names = constant_names();
    const auto count = static_cast<Index>(plan_.constants.size());
    if (const auto known = cache_.find(inputs_.value(), names)) {
      all_.x = Eigen::Map<const VectorXd>(known->data(), count);
      all_.deviations = Eigen::Map<const VectorXd>(known->data() + count, count);
    } else {
      all_ = robust_fit(problem_.with(weights_), problem_.priors(), {});
      std::vector<double> values{all_.x.begin(), all_.x.end()};
      values.insert(values.end(), all_.deviations.begin(), all_.deviations.end());
      cache_.keep(inputs_.value(), names, values);
    }
    planes_ = problem_.planes_at(all_.x, all_.deviations);
  }

  const FitPlan& plan_;
  FitProblem problem_;
  VectorXd weights_;
  FoldCache cache_;
  Fingerprint inputs_;
  RobustSolution all_;
  std::optional<FitProblem::Planes> planes_;
};

/// Of the rows of a problem with these runs, with the shipped profiles.
std::vector<const Job*> jobs_of(const std::vector<StepRun>& runs) {
  std::vector<const Job*> jobs;
  for (const StepRun& run : runs)
    if (run.job) jobs.push_back(&*run.job);
  return jobs;
}

/// What is known where a fold's runs are not.
class KnownWithout {
 public:
  KnownWithout(const Fold& fold, const Refit& refit, const std::vector<RunFacts>& facts,
               const BandTable& shipped)
      : residuals_{refit.residuals} {
    BandTable table{shipped.widths, shipped.unmeasured_site, reach_without(facts, fold.out)};
    for (std::size_t i = 0; i < facts.size(); ++i)
      if (facts[i].fitted && !fold.out[i]) sites_.insert(facts[i].site);
    table_ = std::make_shared<const BandTable>(std::move(table));
  }

  /// The job as who has only those runs would forecast it.
  [[nodiscard]] Job job(Job job) const {
    job.stack.bands = table_;
    if (const auto own = residuals_.find(job.stack.name); own != residuals_.end())
      std::tie(job.stack.band_low, job.stack.band_high) = own->second;
    if (table_->reach.count(job.stack.name) == 0) job.stack.provenance.trust = Trust::interpolated;
    if (job.site.provenance.trust == Trust::measured && sites_.count(job.site.name) == 0)
      job.site.provenance.trust = Trust::interpolated;
    return job;
  }

 private:
  const std::map<std::string, std::pair<double, double>>& residuals_;
  std::shared_ptr<const BandTable> table_;
  std::set<std::string> sites_;
};

/// The forecast with the band of who does not know the fold's runs, as wide in percent as around
/// what the shipped profiles forecast.
BandByKind set_forecast(RecordCheck& check, const Job& job, double predicted) {
  StepForecast step = step_time(job, stage_layout(job.model, job.parallel));
  const BandByKind facts = band_facts(job, step);
  std::vector<Warning> warnings;
  add_band(job, facts, step, warnings);
  check.predicted = predicted;
  check.low = predicted * (step.low / step.time);
  check.high = predicted * (step.high / step.time);
  return facts;
}

FoldForecast forecast_of(const Fold& fold, const Refit& refit, const std::vector<RunFacts>& facts,
                         const std::vector<const Job*>& jobs, const FitProblem& problem) {
  static const BandTable none;
  const auto& table = jobs.front()->stack.bands;
  const KnownWithout known(fold, refit, facts, table ? *table : none);
  FoldForecast forecast{fold, {}, {}};
  for (std::size_t row = 0; row < fold.asked.size(); ++row) {
    if (!fold.asked[row]) continue;
    RecordCheck check = problem.check(row);
    const Job& job = *jobs[row];
    BandCase at{
        fold.axis, check.source, 0.0, {}, !job.model.is_hybrid() && !job.fine_tuning.freezes()};
    check.source = fold.name;
    at.facts = set_forecast(check, known.job(job), refit.seconds[forecast.checks.size()]);
    at.error = std::log(check.measured / check.predicted);
    forecast.checks.push_back(std::move(check));
    forecast.cases.push_back(std::move(at));
  }
  return forecast;
}

}  // namespace

std::vector<FoldConstants> constants_without(const FitPlan& plan, const std::vector<StepRun>& runs,
                                             const std::vector<Fold>& folds,
                                             const LeaveOutOptions& options) {
  std::vector<FoldConstants> all;
  try {
    Refitter refitter(plan, runs, options);
    for (const Fold& fold : folds) {
      std::optional<FoldConstants> fitted = refitter.constants_kept(fold);
      if (!fitted) {
        if (options.progress) options.progress(fold, all.size(), folds.size());
        fitted = refitter.constants_without(fold);
      }
      all.push_back(std::move(*fitted));
    }
  } catch (const FitStopped&) {
    // What was finished is kept.
  }
  return all;
}

LeaveOut leave_out(const FitPlan& plan, const std::vector<StepRun>& runs,
                   const std::vector<RunFacts>& facts, const std::vector<Fold>& folds,
                   const LeaveOutOptions& options) {
  const std::vector<const Job*> jobs = jobs_of(runs);
  LeaveOut result;
  try {
    Refitter refitter(plan, runs, options);
    FORETRAIN_REQUIRE(jobs.size() == refitter.problem().rows() && jobs.size() == facts.size());
    for (const Fold& fold : folds) {
      std::optional<Refit> refit = refitter.kept(fold);
      if (!refit) {
        if (options.progress) options.progress(fold, result.folds.size(), folds.size());
        refit = refitter.without(fold);
      }
      result.folds.push_back(forecast_of(fold, *refit, facts, jobs, refitter.problem()));
    }
  } catch (const FitStopped&) {
    result.stopped = true;
  }
  return result;
}

}  // namespace foretrain
