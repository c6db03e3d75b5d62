// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {

/// Checks records in the format of calibration/measured/megatron_ci_memory.json: torch's allocated
/// bytes between steps and at the peak, on the last rank.
/// @throws std::runtime_error when the document has another shape.
[[nodiscard]] std::vector<RecordCheck> check_megatron_memory(const nlohmann::json& document,
                                                             const RunCatalog& catalog);

/// Checks the memory figures of measured runs, and whether they fit where the source says so.
[[nodiscard]] std::vector<RecordCheck> check_run_memory(const std::vector<RunRecord>& records,
                                                        const RunCatalog& catalog);

/// How well the profiles over the pipeline stages are met.
struct StageProfiles {
  int count = 0;           ///< profiles of at least two stages
  int heaviest_right = 0;  ///< the forecast's heaviest stage is the measured one, or within 0.5 %
  int stages = 0;          ///< of all profiles
  double median = 0.0;     ///< of the errors of single stages, and their 90th percentile
  double p90 = 0.0;
};

[[nodiscard]] StageProfiles stage_profiles(const std::vector<RecordCheck>& checks);

}  // namespace foretrain
