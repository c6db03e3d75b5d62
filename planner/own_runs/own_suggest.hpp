// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "planner/answer/answer.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// Which run to measure next, so that forecasts of the plans in question become surer.
struct OwnSuggestRequest {
  std::vector<Scenario> scenarios;                ///< plans in question
  std::vector<std::filesystem::path> files = {};  ///< own runs so far, as calibrate fit --runs
  std::vector<std::filesystem::path> catalogs = {};
  int most_hosts = 0;  ///< that a run may take; 0: those of the scenario
};

/// A run that would tell, and what it is expected to tell.
struct SuggestedRun {
  Job job;
  double step = 0.0;               ///< seconds, forecast
  int steps = 0;                   ///< that a measurement takes: warm-up, then enough for a median
  std::vector<double> after;       ///< by plan: deviation of ln(time) that is left
  double gain = 0.0;               ///< mean share of the plans' deviations that goes
  std::vector<std::string> tells;  ///< constants that it tells most of
};

struct OwnSuggestion {
  std::vector<std::string> plans;  ///< names of the scenarios
  std::vector<double> before;      ///< by plan: deviation of ln(time), of constants alone
  std::vector<double> noises;      ///< by plan: deviation that no constant explains
  double noise = 0.0;              ///< the same of a plain run (own_noise_factor() 1)
  int runs = 0;                    ///< own runs that were read
  int candidates = 0;              ///< legal plans that fit into memory
  std::vector<SuggestedRun> best;  ///< the most gain first, each of another layout
};

/// Candidates are other layouts, micro-batches and numbers of hosts of the same models; the gain of
/// one is what a measurement of it, with the noise of a run, takes from the posterior variance of
/// the plans (Bayesian experimental design: MacKay, Neural Computation 4, 1992).
/// @throws UsageError where no candidate can run, ScenarioError with places
[[nodiscard]] OwnSuggestion suggest_runs(const OwnSuggestRequest& request);

[[nodiscard]] Answer own_suggestion_answer(const OwnSuggestion& suggestion);
/// {"schema": "own-suggest/1", "plans": [...], "noise", "candidates", "runs": [...]}
[[nodiscard]] std::string own_suggestion_json(const OwnSuggestion& suggestion);

}  // namespace foretrain
