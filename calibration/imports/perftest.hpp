// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "calibration/imports/imported_log.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// Reads what ib_write_bw, ib_read_bw, ib_send_bw and their _lat siblings of linux-rdma/perftest
/// print, several tests of one file after another. Rates in Gbit/s and in MiB/s (printed as MB/sec)
/// are told apart by the header, and checked against the message rate of their row.
[[nodiscard]] ImportedLog import_perftest(const std::string& text, const std::string& file,
                                          const ImportOptions& options, Diagnostics& diagnostics);

}  // namespace foretrain
