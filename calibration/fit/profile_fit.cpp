// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/profile_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "calibration/fit/fit_stop.hpp"
#include "calibration/fit/internal/fit_problem.hpp"
#include "calibration/fit/internal/numeric_fit.hpp"
#include "calibration/fit/internal/robust_fit.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

using Eigen::Index;
using Eigen::VectorXd;

double prior_of(const FitPlan& plan, const std::vector<FittedConstant>& fitted, std::size_t i) {
  const auto like = plan.constants[i].like;
  return like ? fitted[*like].after : plan.constants[i].prior;
}

void set_constant(const FitConstant& constant, double value, RunCatalog& catalog) {
  for (const ProfileRef& profile : constant.profiles)
    constant_of(profile, constant.keys.front(), catalog)->set(value);
}

std::vector<RecordCheck> predicted_with(const std::vector<StepRun>& runs,
                                        const RunCatalog& catalog) {
  std::vector<RecordCheck> checks;
  for (StepRun run : runs) {
    if (!run.job) continue;
    FitStop::check();
    take_profiles(*run.job, catalog);
    predict(run);
    checks.push_back(std::move(run.check));
  }
  return checks;
}

}  // namespace

double FittedConstant::moved() const {
  return before > 0.0 ? std::abs(std::log(after / before)) / deviation
                      : std::numeric_limits<double>::infinity();
}

std::string fitted_text(const FitConstant& constant, double value, int digits) {
  const Dimension dimension = dimension_of(constant.profiles.front().layer, constant.keys.front());
  const auto rounded = [digits](double number) {
    const Parsed<double> parsed = parse_number(fmt::format("{:.{}g}", number, digits));
    FORETRAIN_REQUIRE(parsed.value.has_value());
    return format_number(*parsed.value);
  };
  if (dimension == Dimension::none) return rounded(value);
  // Minutes and binary units do not count in tens.
  const auto decimal = [](const Unit& unit) {
    const double power = std::log10(unit.multiplier / unit.divisor);
    return std::abs(power - std::round(power)) < 1e-9;
  };
  const Unit* best = nullptr;
  for (const Unit& unit : units_of(dimension))
    if (decimal(unit) && (best == nullptr || value >= unit.multiplier / unit.divisor)) best = &unit;
  FORETRAIN_REQUIRE(best != nullptr);
  return rounded(value / best->multiplier * best->divisor) + " " + std::string(best->name);
}

double fitted_value(const FitConstant& constant, const std::string& text) {
  const Dimension dimension = dimension_of(constant.profiles.front().layer, constant.keys.front());
  return dimension == Dimension::none ? *parse_number(text).value
                                      : *parse_quantity(text, dimension).value;
}

void take_profiles(Job& job, const RunCatalog& catalog) {
  job.stack = catalog.stacks.at(job.stack.name);
  job.site = catalog.sites.at(job.site.name);
  job.device_profile = catalog.device_profiles.at(job.device_profile.name);
}

RunCatalog with_fit(RunCatalog catalog, const ProfileFit& fit) {
  for (const FittedConstant& fitted : fit.constants)
    set_constant(fitted.constant, fitted.after, catalog);
  for (const FittedBand& band : fit.bands) {
    StackProfile& stack = catalog.stacks.at(band.stack);
    stack.band_low = band.low;
    stack.band_high = band.high;
    stack.provenance.error = band.error;
  }
  return catalog;
}

namespace {

/// The record that a constant moves most among those it is not fitted to; empty where a deviation
/// of it moves none by a tenth of the noise.
std::string kept_out(const FitProblem& problem, const VectorXd& moves) {
  constexpr double least = 0.1;
  Index most = 0;
  if (moves.size() == 0 || moves.cwiseAbs().maxCoeff(&most) < least) return "";
  return problem.check(static_cast<std::size_t>(most)).id;
}

/// What determined each constant; priors are those at the end of the fit.
void add_evidence(FitProblem& problem, const RobustProblem& robust, const RobustSolution& solution,
                  ProfileFit& fit) {
  const Eigen::MatrixXd said = said_by_rows(robust, solution);
  const VectorXd widths = prior_deviations(robust);
  const Eigen::MatrixXd moves = problem.moves_of_others(solution.x, solution.deviations);
  std::vector<FitRecord> records;
  for (std::size_t row = 0; row < problem.rows(); ++row) records.push_back(problem.record(row));
  for (std::size_t i = 0; i < fit.constants.size(); ++i) {
    const auto at = static_cast<Index>(i);
    ConstantEvidence& evidence = fit.constants[i].evidence;
    evidence = evidence_of({said.col(at).begin(), said.col(at).end()}, records);
    evidence.kept_out = kept_out(problem, moves.col(at));
    evidence.prior = fit.constants[i].prior;
    evidence.width = widths[at];
  }
}

}  // namespace

ProfileFit fit_profiles(const FitPlan& plan, const std::vector<StepRun>& runs, RunCatalog catalog,
                        FitStart start) {
  FitProblem problem(plan, runs);
  const VectorXd weights = problem.weights();
  const RobustProblem robust = problem.with(weights);
  const VectorXd priors = problem.priors();
  const RobustSolution solution = robust_fit(
      robust, start.number == 0 ? priors : other_start(robust, priors, start.number), {});
  ProfileFit fit;
  fit.objective = solution.objective;
  fit.converged = solution.converged;
  fit.derivatives = solution.derivatives;
  fit.before = predicted_with(runs, catalog);
  VectorXd rounded(solution.x.size());
  for (std::size_t i = 0; i < plan.constants.size(); ++i) {
    const FitConstant& constant = plan.constants[i];
    FittedConstant fitted;
    fitted.constant = constant;
    fitted.before = constant_of(constant.profiles.front(), constant.keys.front(), catalog)->get();
    const auto at = static_cast<Index>(i);
    const double value = std::exp(solution.x[at]);
    fitted.deviation = solution.deviations[at];
    fitted.at_bound = solution.x[at] <= robust.low[at] || solution.x[at] >= robust.high[at];
    fitted.text = fitted_text(constant, value, digits_for(value, fitted.deviation, fitted_digits));
    fitted.after = fitted_value(constant, fitted.text);
    rounded[static_cast<Index>(i)] = std::log(fitted.after);
    fit.constants.push_back(std::move(fitted));
  }
  for (std::size_t i = 0; i < plan.constants.size(); ++i)
    fit.constants[i].prior = prior_of(plan, fit.constants, i);
  add_evidence(problem, robust, solution, fit);
  fit.bands = stack_bands(plan, problem, weights, problem.seconds(rounded));
  fit.after = predicted_with(runs, with_fit(std::move(catalog), fit));
  return fit;
}

}  // namespace foretrain
