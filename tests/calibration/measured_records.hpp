// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/records/measured_data.hpp"
#include "calibration/records/run_catalog.hpp"
#include "calibration/records/run_record.hpp"

namespace foretrain {

/// The contents of a file in calibration/measured.
[[nodiscard]] std::string measured_file(const std::string& name);
/// The records of runs.yaml, read once.
[[nodiscard]] const std::vector<RunRecord>& shipped_runs();
/// Those of runs_2026.yaml.
[[nodiscard]] const std::vector<RunRecord>& newest_runs();
/// Those of another file in the format of runs.yaml.
[[nodiscard]] std::vector<RunRecord> runs_in(const char* name);
/// All that the fit reads: both, those released later, and vTrain's two tables.
[[nodiscard]] std::vector<RunRecord> all_shipped_runs();
/// The record of that id. @pre there is one
[[nodiscard]] const RunRecord& shipped_run(const std::string& id);
/// Kernels of both tables.
[[nodiscard]] std::vector<KernelRecord> shipped_kernels();
/// Every catalog, read once.
[[nodiscard]] const RunCatalog& shipped_catalog();

}  // namespace foretrain
