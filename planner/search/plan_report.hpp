// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/answer/value_rows.hpp"
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

struct Scene;
struct SceneSpace;

/// Whose waterfall is drawn with bars and told with its settings.
enum class PlanBars { winner, all };
[[nodiscard]] AnswerHead plan_head(const PlanReport& report, const std::string& source = {});
/// The alternatives, the best plans as a table, where their steps go, why the winner beats the
/// next, where the user's own plan stands, the Pareto front, the space, what was refused and why,
/// and what the forecast rests on.
/// @param source what stands behind a command's name to read the scenario again
[[nodiscard]] Answer plan_answer(const PlanReport& report, PlanBars bars = PlanBars::winner,
                                 const std::string& source = {});
/// Schema plan/1: planner/README.md, "Output".
[[nodiscard]] std::string plan_json(const PlanReport& report);
[[nodiscard]] const ValueRows& plan_document();
/// RFC 4180: one row per plan of the table.
[[nodiscard]] std::string plan_csv(const PlanReport& report);

/// Plans by memory and step time, machines by GPU-hours and days; nothing for less than two.
[[nodiscard]] std::optional<Scene> plans_chart(const PlanReport& report, const SceneSpace& space);
[[nodiscard]] std::optional<Scene> machines_chart(const std::vector<Finalist>& pareto,
                                                  const SceneSpace& space);

}  // namespace foretrain
