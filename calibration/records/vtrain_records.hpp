// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/records/run_record.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads a table in the format of calibration/measured/vtrain_single.csv or vtrain_multi.csv
/// (VIA-Research/vTrain): one GPT iteration per line. The two differ by the column "Parameters
/// (billion)", which only the table of several nodes has. What no column says is as
/// calibration/measured/README.md states or infers: fp16, A100 80 GB, eight GPUs and 800 Gbit/s per
/// node, 1F1B, gradients reduced after the last pass.
/// Ids are "vtrain_single-LINE" or "vtrain_multi-LINE". Every malformed line becomes a diagnostic.
[[nodiscard]] std::vector<RunRecord> read_vtrain_records(const std::string& text,
                                                         const std::string& name,
                                                         Diagnostics& diagnostics);

}  // namespace foretrain
