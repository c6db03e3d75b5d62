// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "calibration/fit/own_fit.hpp"
#include "models/inputs/job.hpp"
#include "planner/answer/answer.hpp"
#include "planner/own_runs/own_runs.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// What a profile of one's own says besides its constants.
struct OwnFileFacts {
  double band_low = 1.0;  ///< of stacks: measured over forecast, 10th and 90th percentile
  double band_high = 1.0;
};

/// The catalog of a layer.
[[nodiscard]] CatalogKind profile_kind(ProfileLayer layer);

/// The stack, site and device profile that a job was made with.
[[nodiscard]] std::vector<ProfileRef> profiles_of(const Job& job);

/// Deviations that the files of the jobs' profiles state.
[[nodiscard]] StatedDeviations stated_deviations_of(
    const std::vector<const Job*>& jobs, const std::vector<std::filesystem::path>& catalogs);

/// The runs of records that can be priced. @throws UsageError where there is none
[[nodiscard]] std::vector<OwnRun> own_runs_in(const std::vector<std::filesystem::path>& files,
                                              const std::vector<std::filesystem::path>& catalogs);

/// The files of profiles: `like` the shipped ones, what moved, how sure it is, where it comes from.
[[nodiscard]] std::vector<OwnProfileFile> own_profile_files(
    const OwnRunsRequest& request, const std::map<ProfileRef, OwnFileFacts>& facts, double error,
    const OwnRunsFit& fit);

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
