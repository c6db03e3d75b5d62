// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads the ":::MLLOG" lines of an MLPerf training result as one run: its step time is the median
/// of the steps that the log times (train_step_time), else the batch over the throughput that it
/// tracks, else the blocks' times over their samples. What the plan was is not in these logs.
[[nodiscard]] ImportedLog import_mlperf(const std::string& text, const std::string& file,
                                        const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace foretrain
