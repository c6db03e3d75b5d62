// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/cli/command.hpp"

namespace foretrain {

// Every command, in the order of add_commands() in program.cpp. Those of `calibrate` are in
// calibrate_commands.hpp.

// The first hour.
[[nodiscard]] Command add_init_command(CLI::App& program);
[[nodiscard]] Command add_plan_command(CLI::App& program);
[[nodiscard]] Command add_simulate_command(CLI::App& program);

// Questions about one scenario, or several.
[[nodiscard]] Command add_fit_command(CLI::App& program);
[[nodiscard]] Command add_solve_command(CLI::App& program);
[[nodiscard]] Command add_explain_command(CLI::App& program);
[[nodiscard]] Command add_goodput_command(CLI::App& program);
[[nodiscard]] Command add_sensitivity_command(CLI::App& program);
[[nodiscard]] Command add_sweep_command(CLI::App& program);
[[nodiscard]] Command add_procure_command(CLI::App& program);
[[nodiscard]] Command add_serve_command(CLI::App& program);
[[nodiscard]] Command add_cluster_command(CLI::App& program);
[[nodiscard]] Command add_collective_command(CLI::App& program);

[[nodiscard]] Command add_show_command(CLI::App& program);
[[nodiscard]] Command add_report_command(CLI::App& program);
[[nodiscard]] Command add_gui_command(CLI::App& program);

[[nodiscard]] Command add_compare_command(CLI::App& program);
[[nodiscard]] Command add_diagnose_command(CLI::App& program);
[[nodiscard]] Command add_check_command(CLI::App& program);

[[nodiscard]] Command add_calibrate_command(CLI::App& program);
[[nodiscard]] Command add_validate_command(CLI::App& program);
[[nodiscard]] Command add_device_command(CLI::App& program);

[[nodiscard]] Command add_import_command(CLI::App& program);
[[nodiscard]] Command add_export_command(CLI::App& program);
/// A Chakra trace on the fabric of a scenario.
[[nodiscard]] Command add_replay_command(CLI::App& program);
[[nodiscard]] Command add_doctor_command(CLI::App& program);
/// Reads the whole tree of commands when it runs. @pre `program` outlives the command
[[nodiscard]] Command add_completion_command(CLI::App& program);
[[nodiscard]] Command add_man_command(CLI::App& program);

// Parts of commands.

/// `cluster fit TRACE`: a workload model of a log of jobs.
[[nodiscard]] Command add_cluster_fit(CLI::App& cluster);

/// To `import`, what reads descriptions of machines: nccl-topo and nvidia-smi give a host, slurm,
/// ibnetdiscover and iblinkinfo a fabric.
[[nodiscard]] std::vector<Command> add_topology_imports(CLI::App& import);
/// `import megatron` and its like, one per framework.
[[nodiscard]] std::vector<Command> add_framework_imports(CLI::App& import);
/// `import log`: training logs as a record of the run.
[[nodiscard]] Command add_training_log_import(CLI::App& import);

/// To `export`, what describes machines and steps to other tools: nccl-tuner, simgrid, dot and
/// chakra.
[[nodiscard]] std::vector<Command> add_fabric_exports(CLI::App& exports);

/// The command among some that the user gave; null: none of them.
[[nodiscard]] const Command* parsed_command(const std::vector<Command>& commands);

}  // namespace foretrain
