// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/cases/step_case.hpp"
#include "calibration/fit/fit_plan.hpp"
#include "calibration/fit/profile_constant.hpp"
#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"

namespace foretrain {

/// Significant digits that fitted constants ship with, at least; more where rounding would move one
/// by more than a twentieth of its deviation.
inline constexpr int fitted_digits = 3;

/// A value as the constant's file writes it: so many significant digits and a unit.
/// @pre value > 0
[[nodiscard]] std::string fitted_text(const FitConstant& constant, double value,
                                      int digits = fitted_digits);

/// What a profile says with `text` as the constant's scalar, base units. @pre it is legal there
[[nodiscard]] double fitted_value(const FitConstant& constant, const std::string& text);

/// A constant before and after a fit, base units; `after` is rounded and reads back exactly from
/// `text`, which is how its file writes it.
struct FittedConstant {
  FitConstant constant;
  double before = 0.0;
  double after = 0.0;
  double prior = 0.0;      ///< where it would be without any record
  double deviation = 0.0;  ///< posterior standard deviation of its logarithm
  bool at_bound = false;   ///< it wants to be where it may not
  std::string text;
  ConstantEvidence evidence;

  /// How far it moved, in deviations.
  [[nodiscard]] double moved() const;
};

/// Fits on another processor give the same constants within this share of their deviations: the
/// last bit of a logarithm may turn a schedule's order, and converged is a hundredth.
inline constexpr double same_fit = 0.1;

/// Band and median error of a stack over its own records after the fit.
struct FittedBand {
  std::string stack;
  int records = 0;
  double low = 1.0;  ///< measured over predicted, 10th percentile
  double high = 1.0;
  double error = 0.0;  ///< median
};

struct ProfileFit {
  std::vector<FittedConstant> constants;  ///< in the plan's order
  std::vector<FittedBand> bands;          ///< of stacks with a free constant and a record
  std::vector<RecordCheck> before;        ///< every record that could be priced
  std::vector<RecordCheck> after;         ///< with the rounded constants and the new bands
  double objective = 0.0;  ///< at the minimum, over a deviation to either side of each constant
  bool converged = false;
  int derivatives = 0;
};

/// Where a fit starts: at the priors, or half a width off them in a way that the number decides.
struct FitStart {
  int number = 0;  ///< 0: at the priors
};

/// Fits all constants of the plan jointly: least squares on ln(predicted/measured) with priors;
/// models/README.md lists the pages with the equations of the steps. Starts from the priors, or
/// beside them, so that the result depends on the plan, the records and what the plan does not
/// free, and on nothing that ships.
/// @pre runs were made with `catalog`
[[nodiscard]] ProfileFit fit_profiles(const FitPlan& plan, const std::vector<StepRun>& runs,
                                      RunCatalog catalog, FitStart start = {});

/// The catalog with the constants and bands of a fit.
[[nodiscard]] RunCatalog with_fit(RunCatalog catalog, const ProfileFit& fit);

/// Sets the profiles in a job to those of the catalog.
void take_profiles(Job& job, const RunCatalog& catalog);

}  // namespace foretrain
