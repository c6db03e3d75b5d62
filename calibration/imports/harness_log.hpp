// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads the JSON Lines of calibration/harness: foretrain-gpubench, foretrain-ncclbench, and the
/// kernels of torch_step.py. Results that came out wrong are left out; what the run did not get to
/// and what it skipped is in the remarks.
[[nodiscard]] ImportedLog import_harness(const std::string& text, const std::string& file,
                                         const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace foretrain
