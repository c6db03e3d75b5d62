// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/imports/imported_log.hpp"

namespace foretrain {

/// Records in the format of calibration/measured/kernels.csv. Links are rows as well: operations
/// "link_KIND", the link in the shape.
[[nodiscard]] std::string kernel_table_text(const std::vector<ImportedLog>& logs);

/// Records in the format of calibration/measured/nccl_sweeps.csv, with the columns host, fabric and
/// note behind it.
[[nodiscard]] std::string sweep_table_text(const std::vector<ImportedLog>& logs);

/// Runs in the format of calibration/measured/runs.yaml; what logs do not say is null, for their
/// owner to fill in.
[[nodiscard]] std::string run_records_text(const std::vector<ImportedLog>& logs);

}  // namespace foretrain
