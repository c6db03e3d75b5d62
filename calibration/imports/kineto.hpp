// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads a trace of PyTorch's profiler (Kineto, Chrome trace events). Kernels of one name become
/// one record with their median duration, count and share of all kernel time. Where the trace has
/// shapes (record_shapes=True), matrix products become records of their shape.
[[nodiscard]] ImportedLog import_kineto(const std::string& text, const std::string& file,
                                        const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace foretrain
