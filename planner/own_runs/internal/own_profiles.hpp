// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <vector>

#include "calibration/fit/own_fit.hpp"
#include "models/inputs/job.hpp"
#include "planner/own_runs/own_runs.hpp"
#include "scenarios/catalog/catalog_files.hpp"

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

}  // namespace foretrain
