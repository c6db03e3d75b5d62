// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "calibration/record_check.hpp"
#include "calibration/run_catalog.hpp"
#include "calibration/run_record.hpp"

namespace foretrain {

/// Checks records in the format of calibration/measured/megatron_ci_memory.json: torch's allocated
/// bytes between steps and at the peak, on the last rank.
/// @throws std::runtime_error when the document has another shape.
[[nodiscard]] std::vector<RecordCheck> check_megatron_memory(const nlohmann::json& document,
                                                             const RunCatalog& catalog);

/// Checks the memory figures of measured runs, and whether they fit where the source says so.
[[nodiscard]] std::vector<RecordCheck> check_run_memory(const std::vector<RunRecord>& records,
                                                        const RunCatalog& catalog);

}  // namespace foretrain
