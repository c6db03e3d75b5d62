// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/search/search.hpp"

namespace foretrain {

/// A plan with its whole forecast. It may not run.
struct ForecastPlan {
  ScoredPlan scored;
  std::string recompute;  ///< RecomputeChoice::name
  std::vector<std::string> settings;
  Report report;
};

/// A plan that runs and keeps the limits by its own forecast, whose step and efficiency these are.
struct Finalist : ForecastPlan {
  StepForecast step;
  Efficiency efficiency;
};

/// A plan of the user's own, held against the best.
struct Standing {
  std::vector<std::string> settings;  ///< that it was given by; empty: the scenario as it is
  Report report;                      ///< by the longest path
  /// Place among the feasible plans of the space by closed form, 1 is the best; absent where the
  /// plan cannot run, or beyond the limits.
  std::optional<std::int64_t> rank;
  Seconds closed_form;  ///< its step; zero where it has none
};

/// All that the reports of a search show.
struct PlanReport {
  Scenario scenario;
  SearchSpace space;
  SearchOptions options;
  SearchResult result;
  std::vector<Finalist> plans;   ///< result.best by the longest path, ranked anew
  std::vector<Finalist> pareto;  ///< in closed form; empty for a single machine
  /// Plans that were among the best by closed form, but are beyond a limit by the longest path (or
  /// on the fabric).
  std::int64_t left_out = 0;
  std::optional<ForecastPlan> nearest;  ///< that of the result
  std::optional<Standing> standing;     ///< of the plan that was asked about
};

/// A plan to be held against the best: the scenario with `settings`.
struct PlanQuestion {
  Scenario scenario;
  std::vector<std::string> settings;
};

/// Searches, then forecasts the best plans by the longest path and orders them by it. Plans that
/// break a limit by that forecast are left out, and the next best take their places.
/// @pre as for search()
[[nodiscard]] PlanReport plan(const Scenario& scenario, const SearchSpace& space,
                              const SearchOptions& options = {},
                              const std::optional<PlanQuestion>& question = std::nullopt);

/// How much more the plan that was asked about takes than the first one, by SearchOptions::by, as a
/// share; absent where nobody asked, or one of them has no time.
[[nodiscard]] std::optional<double> gap_of_standing(const PlanReport& report);

/// A scenario that extends `base` (a path relative to the new file) by `settings` in this order.
/// @throws UsageError for settings of list elements, which cannot be written as keys
[[nodiscard]] std::string scenario_with(const std::string& base, const std::string& name,
                                        const std::vector<std::string>& settings);

}  // namespace foretrain
