// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads what NVIDIA/nvbandwidth prints: matrices of rates (GB/s) and of latencies (ns).
[[nodiscard]] ImportedLog import_nvbandwidth(const std::string& text, const std::string& file,
                                             const ImportOptions& options,
                                             Diagnostics& diagnostics);

/// The same from what it prints with `-j`.
[[nodiscard]] ImportedLog import_nvbandwidth_json(const std::string& text, const std::string& file,
                                                  const ImportOptions& options,
                                                  Diagnostics& diagnostics);

}  // namespace foretrain
