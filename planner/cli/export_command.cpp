// SPDX-License-Identifier: Apache-2.0
#include "planner/cli/export_command.hpp"

#include <stdexcept>

#include "planner/cli/export_fabric.hpp"
#include "planner/cli/import_topology.hpp"

namespace foretrain {

Command add_export_command(CLI::App& program) {
  CLI::App* app = program.add_subcommand("export", "Turn a scenario into a file of another tool");
  const std::vector<Command> fabrics = add_fabric_exports(*app);
  app->require_subcommand(1);
  app->footer(
      "Examples:\n"
      "  foretrain export nccl-tuner run.yaml -o nccl_tuner.conf\n"
      "  foretrain export chakra run.yaml -o 'trace.%d.et'\n"
      "foretrain export KIND --help tells more about a kind.\n"
      "Exit codes: 0 written, 2 bad usage or input, 3 the plan cannot run.");
  return {app, [fabrics]() -> int {
            const Command* command = parsed_command(fabrics);
            if (command == nullptr) throw std::logic_error("no export ran");
            return command->run();
          }};
}

}  // namespace foretrain
