// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/files/export_command.hpp"

#include "planner/cli/files/export_fabric.hpp"
#include "planner/cli/files/export_launch.hpp"
#include "planner/cli/files/import_topology.hpp"

namespace foretrain {

Command add_export_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("export", "Turn a scenario into a file of another tool");
  std::vector<Command> parts = add_launch_exports(*app);
  for (Command& part : add_fabric_exports(*app)) parts.push_back(std::move(part));
  app->require_subcommand(1);
  app->footer(
      "Examples:\n"
      "  foretrain export megatron run.yaml -o pretrain.sh\n"
      "  foretrain export sbatch run.yaml -o run.slurm\n"
      "  foretrain export nccl-tuner run.yaml -o nccl_tuner.conf\n"
      "  foretrain export chakra run.yaml -o 'trace.%d.et'\n"
      "foretrain export KIND --help shows the options of a kind.\n"
      "Exit codes: 0 exported, 2 bad usage or input, or not representable in that format, 3 the "
      "plan\n"
      "cannot run.");
  return {app, [parts] { return parsed_command(parts)->run(); }};
}

}  // namespace foretrain
