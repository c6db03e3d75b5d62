// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/cli/command.hpp"
#include "planner/constants/measured_logs.hpp"

namespace foretrain {

// Every command has its row below, and its line in command_groups(). Those of `calibrate` are in
// commands.hpp.
[[nodiscard]] CommandRow calibrate_command();
[[nodiscard]] CommandRow check_command();
[[nodiscard]] CommandRow cluster_command();
[[nodiscard]] CommandRow collective_command();
[[nodiscard]] CommandRow compare_command();
[[nodiscard]] CommandRow completion_command();
[[nodiscard]] CommandRow device_command();
[[nodiscard]] CommandRow diagnose_command();
[[nodiscard]] CommandRow doctor_command();
[[nodiscard]] CommandRow explain_command();
[[nodiscard]] CommandRow export_command();
[[nodiscard]] CommandRow fit_command();
[[nodiscard]] CommandRow goodput_command();
[[nodiscard]] CommandRow gui_command();
[[nodiscard]] CommandRow import_command();
[[nodiscard]] CommandRow init_command();
[[nodiscard]] CommandRow man_command();
[[nodiscard]] CommandRow plan_command();
[[nodiscard]] CommandRow procure_command();
[[nodiscard]] CommandRow replay_command();
[[nodiscard]] CommandRow report_command();
[[nodiscard]] CommandRow sensitivity_command();
[[nodiscard]] CommandRow serve_command();
[[nodiscard]] CommandRow show_command();
[[nodiscard]] CommandRow simulate_command();
[[nodiscard]] CommandRow solve_command();
[[nodiscard]] CommandRow sweep_command();
[[nodiscard]] CommandRow validate_command();

/// Commands for one task.
struct CommandGroup {
  const char* task;
  std::vector<CommandRow (*)()> commands;
};

/// All, in the order of the help.
[[nodiscard]] inline std::vector<CommandGroup> command_groups() {
  return {{"Start: your own job", {init_command, plan_command, simulate_command}},
          {"Ask",
           {fit_command, solve_command, explain_command, goodput_command, sensitivity_command,
            sweep_command, procure_command, serve_command, cluster_command, collective_command}},
          {"Look", {show_command, report_command, gui_command}},
          {"Compare", {compare_command, diagnose_command, check_command}},
          {"Calibrate", {calibrate_command, validate_command, device_command}},
          {"Operate",
           {import_command, export_command, replay_command, doctor_command, completion_command,
            man_command}}};
}

// Parts of commands.

/// `cluster fit TRACE`: a workload model of a log of jobs.
[[nodiscard]] CommandRow cluster_fit_command();

/// To `import`, what reads descriptions of machines: nccl-topo and nvidia-smi give a host, slurm,
/// ibnetdiscover and iblinkinfo a fabric.
[[nodiscard]] std::vector<CommandRow> topology_imports();
/// `import megatron` and its like, one per framework.
[[nodiscard]] std::vector<CommandRow> framework_imports();
/// `import log`: training logs as a record of the run.
[[nodiscard]] CommandRow training_log_import();

/// To `export`, what describes machines and steps to other tools: nccl-tuner, simgrid, dot and
/// chakra.
[[nodiscard]] std::vector<CommandRow> fabric_exports();

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
