// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads what NCCL's Inspector plug-in dumps from running jobs: one JSON object per collective and
/// rank. A record is one size of one communicator's shape: of the ranks of one call the fastest,
/// which did not wait for others, and of the calls the median. The plug-in does not tell the GPU.
[[nodiscard]] ImportedLog import_inspector(const std::string& text, const std::string& file,
                                           const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace foretrain
