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
void add_log_options(CLI::App& app, LogOptions& options);
/// @throws UsageError
[[nodiscard]] LogRequest log_request(const LogOptions& options);

/// Tells on standard error what was flagged, one line each, at most 50 per file.
void tell_flagged(const std::vector<MeasuredLog>& logs);

/// Subcommands of `calibrate`; the caller asks which one was parsed.
[[nodiscard]] Command add_calibrate_fit(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_import(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_run(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_check(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_compare(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_constants(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_worth(CLI::App& calibrate);
[[nodiscard]] Command add_calibrate_suggest(CLI::App& calibrate);

}  // namespace foretrain
