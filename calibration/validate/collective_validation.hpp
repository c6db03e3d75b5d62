// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/sweep_records.hpp"

namespace foretrain {

/// Groups that collectives are summarised in.
inline constexpr const char* large_group = "from 1 MiB";
inline constexpr const char* small_group = "below 1 MiB";

/// Checks the time of every measured collective, in microseconds.
[[nodiscard]] std::vector<RecordCheck> check_collectives(const std::vector<SweepRecord>& records,
                                                         const RunCatalog& catalog);

}  // namespace foretrain
