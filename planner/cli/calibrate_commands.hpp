// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/command.hpp"
#include "planner/constants/measured_logs.hpp"

namespace foretrain {

/// Options of every subcommand that reads logs.
struct LogOptions {
  std::vector<std::string> files;
  std::string format;
  std::string gpu;
  std::string collective;
  std::string network;
  std::string host;
  std::string fabric;
  int nodes = 0;
  int gpus_per_node = 0;
};

/// Adds --format, --gpu, --nodes, --gpus-per-node, --collective, --network, --host and --fabric.
void add_log_options(CommandRow& command, LogOptions& options);
/// @throws UsageError
[[nodiscard]] LogRequest log_request(const LogOptions& options);

/// Tells on standard error what was flagged, one line each, at most 50 per file.
void tell_flagged(const std::vector<MeasuredLog>& logs);

// Commands of `calibrate`.
[[nodiscard]] CommandRow calibrate_fit_command();
[[nodiscard]] CommandRow calibrate_import_command();
[[nodiscard]] CommandRow calibrate_run_command();
[[nodiscard]] CommandRow calibrate_check_command();
[[nodiscard]] CommandRow calibrate_compare_command();
[[nodiscard]] CommandRow calibrate_constants_command();
[[nodiscard]] CommandRow calibrate_worth_command();
[[nodiscard]] CommandRow calibrate_suggest_command();

}  // namespace foretrain
