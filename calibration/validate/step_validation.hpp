// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {

/// Checks the step time of every record that tells a speed.
[[nodiscard]] std::vector<RecordCheck> check_run_steps(const std::vector<RunRecord>& records,
                                                       const RunCatalog& catalog);

}  // namespace foretrain
