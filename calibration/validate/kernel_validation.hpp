// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "calibration/records/kernel_records.hpp"
#include "calibration/records/record_check.hpp"
#include "calibration/records/run_catalog.hpp"

namespace foretrain {

/// Checks the time of every measured kernel, in microseconds.
[[nodiscard]] std::vector<RecordCheck> check_kernels(const std::vector<KernelRecord>& records,
                                                     const RunCatalog& catalog);

}  // namespace foretrain
