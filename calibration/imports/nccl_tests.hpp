// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads what the programs of NVIDIA/nccl-tests print, one test after another. Rows that contradict
/// themselves, hold wrong elements or are cut are flagged and left out; what makes the whole log
/// unusable becomes a diagnostic.
[[nodiscard]] ImportedLog import_nccl_tests(const std::string& text, const std::string& file,
                                            const ImportOptions& options, Diagnostics& diagnostics);

/// The same from the file that `-J` writes.
[[nodiscard]] ImportedLog import_nccl_tests_json(const std::string& text, const std::string& file,
                                                 const ImportOptions& options,
                                                 Diagnostics& diagnostics);

/// One sweep as nccl-tests prints it, to the digits that it prints. @pre one operation, one
/// machine; every record has a time or a bus bandwidth above zero
[[nodiscard]] std::string nccl_tests_text(const std::vector<SweepRecord>& sweep);

}  // namespace foretrain
