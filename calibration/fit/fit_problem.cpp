// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/internal/fit_problem.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "models/base/parallel.hpp"
#include "models/base/percentile.hpp"
#include "models/base/require.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

/// Where a row is priced for its plane, in spans. A schedule changes its order with the constants,
/// and the step jumps by up to a thousandth of its time: rows with a pipeline take more points.
const std::vector<double>& sides(const Job& job, bool coarse) {
  static const std::vector<double> few{-0.25, 0.25};
  static const std::vector<double> many{-1.0, -0.75, -0.5, -0.25, 0.25, 0.5, 0.75, 1.0};
  return job.parallel.pipeline > 1 && !coarse ? many : few;
}

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
  std::ranges::sort(ratios, [](const Weighted& a, const Weighted& b) { return a.ratio < b.ratio; });
  const auto rounded = [](double value) { return std::round(value * 1000.0) / 1000.0; };
  band.low = rounded(std::min(quantile(ratios, 0.1), 1.0 - repeats));
  band.high = rounded(std::max(quantile(ratios, 0.9), 1.0 + repeats));
  band.error = rounded(band.error);
  return band;
}

}  // namespace

FitProblem::FitProblem(const FitPlan& plan, const std::vector<StepRun>& runs,
                       const std::atomic<bool>* stop)
    : plan_{plan}, stop_{stop} {
  rows_.reserve(runs.size());  // knobs point into the jobs: rows must not move
  for (const StepRun& run : runs) {
    if (!run.job) continue;
    const auto grade = plan.grades.find(run.confidence);
    const double trusted = grade == plan.grades.end() ? 1.0 : grade->second;
    rows_.push_back({&run.check,
                     run.fitted == FitScope::none ? 0.0 : trusted,
                     *run.job,
                     stage_layout(run.job->model, run.job->parallel),
                     {},
                     run.fitted,
                     run.year});
    Row& row = rows_.back();
    for (std::size_t i = 0; i < plan.constants.size(); ++i)
      for (const ProfileRef& profile : plan.constants[i].profiles)
        if (uses(row.job, profile)) add_knobs(i, profile, row);
  }
  planes_.values = VectorXd::Zero(static_cast<Index>(rows_.size()));
  planes_.slopes = Eigen::MatrixXd::Zero(static_cast<Index>(rows_.size()),
                                         static_cast<Index>(plan.constants.size()));
}

void FitProblem::add_knobs(std::size_t index, const ProfileRef& profile, Row& row) {
  const bool moves = row.scope == FitScope::all ||
                     (row.scope == FitScope::device && profile.layer == ProfileLayer::device);
  Knob knob{static_cast<Index>(index), {}, moves};
  for (const std::string& key : plan_.constants[index].keys)
    if (const auto found = constant_of(profile, key, row.job)) knob.constants.push_back(*found);
  row.knobs.push_back(std::move(knob));
}

VectorXd FitProblem::weights(const std::vector<bool>& out) const {
  FORETRAIN_REQUIRE(out.empty() || out.size() == rows_.size());
  std::map<std::tuple<std::string, std::string, FitScope>, double> totals;
  const auto key = [](const Row& row) {
    return std::tuple{row.check->source, row.check->group, row.scope};
  };
  const auto grade = [&](std::size_t i) { return !out.empty() && out[i] ? 0.0 : rows_[i].grade; };
  for (std::size_t i = 0; i < rows_.size(); ++i) totals[key(rows_[i])] += grade(i);
  VectorXd weights = VectorXd::Zero(static_cast<Index>(rows_.size()));
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (grade(i) > 0.0)
      weights[static_cast<Index>(i)] = grade(i) * std::min(1.0, plan_.rows / totals[key(rows_[i])]);
  return weights;
}

VectorXd FitProblem::priors() const {
  const std::size_t count = plan_.constants.size();
  VectorXd x(static_cast<Index>(count));
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t source = i;
    for (std::size_t hops = 0; plan_.constants[source].like; ++hops) {
      FORETRAIN_REQUIRE(hops < count);  // no prior goes round in a circle
      source = *plan_.constants[source].like;
    }
    const FitConstant& constant = plan_.constants[i];
    x[static_cast<Index>(i)] =
        std::log(std::clamp(plan_.constants[source].prior, constant.low, constant.high));
  }
  return x;
}

void FitProblem::set(Row& row, const VectorXd& x) const {
  for (const Knob& knob : row.knobs) knob.set(std::exp(x[knob.variable]));
}

double FitProblem::residual(const Row& row) const {
  const Seconds step = step_seconds(step_costs(row.job, row.layout));
  return std::log(step.value() / row.check->measured) / plan_.noise;
}

void FitProblem::derive(Row& row, Index index, const VectorXd& x, const VectorXd& spans,
                        const PlaneOptions& options) {
  const auto count = static_cast<Index>(row.knobs.size());
  const auto moved = std::ranges::count_if(row.knobs, [](const Knob& knob) { return knob.moves; });
  if (moved == 0) {
    set(row, x);
    planes_.values[index] = residual(row);
    return;
  }
  VectorXd here(count);
  VectorXd with(count);
  for (Index k = 0; k < count; ++k) {
    here[k] = x[row.knobs[static_cast<std::size_t>(k)].variable];
    with[k] = spans[row.knobs[static_cast<std::size_t>(k)].variable];
  }
  const bool known = row.derived_at.size() == count;
  if (known && row.coarse == options.coarse &&
      (here - row.derived_at).cwiseAbs().maxCoeff() <= options.close_by &&
      (options.close_by > 0.0 || with == row.derived_with))
    return;
  row.coarse = options.coarse;
  row.derived_at = here;
  row.derived_with = with;
  set(row, x);
  double sum = 0.0;
  for (const Knob& knob : row.knobs) {
    if (!knob.moves) continue;
    const FitConstant& constant = plan_.constants[static_cast<std::size_t>(knob.variable)];
    const double at = x[knob.variable];
    std::vector<double> offsets;
    std::vector<double> values;
    for (const double side : sides(row.job, options.coarse)) {
      // Inside the bounds: constants such as shares end at 1.
      const double there = std::clamp(at + side * spans[knob.variable], std::log(constant.low),
                                      std::log(constant.high));
      knob.set(std::exp(there));
      offsets.push_back(there - at);
      values.push_back(residual(row));
    }
    knob.set(std::exp(at));
    const FittedLine line = fitted_line(offsets, values);
    planes_.slopes(index, knob.variable) = line.slope;
    sum += line.value;
  }
  planes_.values[index] = sum / static_cast<double>(moved);
}

template <class Work>
void FitProblem::for_rows(const VectorXd& weights, const Work& work) {
  constexpr std::size_t piece = 16;
  parallel_for((rows_.size() + piece - 1) / piece, 0, [&](std::size_t at) {
    for (std::size_t i = at * piece; i < std::min((at + 1) * piece, rows_.size()); ++i) {
      if (!(weights[static_cast<Index>(i)] > 0.0)) continue;
      if (stop_ != nullptr && *stop_) throw FitStopped{};
      FitStop::check();
      work(rows_[i], static_cast<Index>(i));
    }
  });
}

RobustProblem FitProblem::with(const VectorXd& weights, double close_by) {
  const auto count = static_cast<Index>(plan_.constants.size());
  RobustProblem problem;
  problem.weights = weights;
  problem.scale = plan_.tail;
  problem.prior_rows = Eigen::MatrixXd::Zero(count, count);
  problem.prior_values = VectorXd::Zero(count);
  problem.low = VectorXd(count);
  problem.high = VectorXd(count);
  for (Index i = 0; i < count; ++i) {
    const FitConstant& constant = plan_.constants[static_cast<std::size_t>(i)];
    problem.prior_rows(i, i) = 1.0 / constant.width;
    if (constant.like)
      problem.prior_rows(i, static_cast<Index>(*constant.like)) = -1.0 / constant.width;
    else
      problem.prior_values[i] = std::log(constant.prior) / constant.width;
    problem.low[i] = std::log(constant.low);
    problem.high[i] = std::log(constant.high);
  }
  problem.residuals = [this, weights](const VectorXd& x) {
    VectorXd residuals = VectorXd::Zero(weights.size());
    for_rows(weights, [&](Row& row, Index i) {
      set(row, x);
      residuals[i] = residual(row);
    });
    return residuals;
  };
  problem.planes = [this, weights, close_by](const VectorXd& x, const VectorXd& spans,
                                             bool coarse) -> const ResidualPlanes& {
    for_rows(weights, [&](Row& row, Index i) { derive(row, i, x, spans, {close_by, coarse}); });
    return planes_;
  };
  return problem;
}

std::vector<double> FitProblem::seconds(const VectorXd& x) {
  std::vector<double> seconds(rows_.size());
  for_rows(VectorXd::Ones(static_cast<Index>(rows_.size())), [&](Row& row, Index i) {
    set(row, x);
    seconds[static_cast<std::size_t>(i)] = step_seconds(step_costs(row.job, row.layout)).value();
  });
  return seconds;
}

Eigen::MatrixXd FitProblem::moves_of_others(const VectorXd& x, const VectorXd& spans) {
  Eigen::MatrixXd moves = Eigen::MatrixXd::Zero(static_cast<Index>(rows_.size()), x.size());
  const auto moved_by = [&](Row& row, const Knob& knob, double side) {
    const FitConstant& constant = plan_.constants[static_cast<std::size_t>(knob.variable)];
    knob.set(std::clamp(std::exp(x[knob.variable] + side * spans[knob.variable]), constant.low,
                        constant.high));
    return residual(row);
  };
  for_rows(VectorXd::Ones(static_cast<Index>(rows_.size())), [&](Row& row, Index i) {
    set(row, x);
    for (const Knob& knob : row.knobs) {
      if (knob.moves) continue;
      moves(i, knob.variable) = moved_by(row, knob, 0.5) - moved_by(row, knob, -0.5);
      knob.set(std::exp(x[knob.variable]));
    }
  });
  return moves;
}

FitProblem::Planes FitProblem::planes_at(const VectorXd& x, const VectorXd& spans) {
  for (Row& row : rows_) row.derived_at.resize(0);
  for_rows(VectorXd::Ones(static_cast<Index>(rows_.size())), [&](Row& row, Index i) {
    derive(row, i, x, spans, {0.0, false});
  });
  Planes planes{planes_, {}, {}};
  for (const Row& row : rows_) {
    planes.at.push_back(row.derived_at);
    planes.spans.push_back(row.derived_with);
  }
  return planes;
}

void FitProblem::take(const Planes& planes) {
  FORETRAIN_REQUIRE(planes.at.size() == rows_.size());
  planes_ = planes.planes;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].derived_at = planes.at[i];
    rows_[i].derived_with = planes.spans[i];
    rows_[i].coarse = false;
  }
}

void FitProblem::add_to(Fingerprint& inputs, const VectorXd& weights) {
  for (const double value : {plan_.noise, plan_.tail}) inputs.add(value);
  for (const FitConstant& constant : plan_.constants) {
    inputs.add(constant.text());
    const double like = constant.like ? static_cast<double>(*constant.like) : -1.0;
    for (const double value : {constant.prior, constant.width, constant.low, constant.high, like})
      inputs.add(value);
  }
  const RobustProblem robust = with(weights);
  const VectorXd start = priors();
  std::vector<std::vector<double>> priced{seconds(start)};
  for (const int number : {1, 2})
    priced.push_back(
        seconds(other_start(robust, start, number).cwiseMax(robust.low).cwiseMin(robust.high)));
  for (std::size_t row = 0; row < rows_.size(); ++row) {
    inputs.add(rows_[row].check->id);
    inputs.add(rows_[row].check->measured);
    inputs.add(weights[static_cast<Index>(row)]);
    for (const Knob& knob : rows_[row].knobs) inputs.add(knob.moves ? 1.0 : 0.0);
    for (const std::vector<double>& at : priced) inputs.add(at[row]);
  }
}

std::vector<bool> FitProblem::connected(const std::vector<bool>& from) const {
  std::vector<bool> rows = from;
  std::vector<bool> variables(plan_.constants.size(), false);
  for (bool grew = true; grew;) {
    grew = false;
    const auto join = [&](bool one, std::vector<bool>::reference other) {
      if (one && !other) other = grew = true;
    };
    for (std::size_t i = 0; i < rows_.size(); ++i)
      for (const Knob& knob : rows_[i].knobs) {
        const auto variable = static_cast<std::size_t>(knob.variable);
        join(rows[i], variables[variable]);
        join(variables[variable], rows[i]);
      }
    for (std::size_t i = 0; i < plan_.constants.size(); ++i)
      if (const auto like = plan_.constants[i].like) {
        join(variables[i], variables[*like]);
        join(variables[*like], variables[i]);
      }
  }
  return rows;
}

std::vector<bool> FitProblem::variables_of(const std::vector<bool>& rows) const {
  std::vector<bool> variables(plan_.constants.size(), false);
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows[i])
      for (const Knob& knob : rows_[i].knobs)
        variables[static_cast<std::size_t>(knob.variable)] = true;
  return variables;
}

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
