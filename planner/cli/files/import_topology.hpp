// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/cli/command.hpp"

namespace foretrain {

/// Adds to `import` what reads descriptions of machines: nccl-topo and nvidia-smi give a host,
/// slurm, ibnetdiscover and iblinkinfo a fabric.
[[nodiscard]] std::vector<Command> add_topology_imports(CLI::App& import);

/// The command among some that the user gave; null: none of them.
[[nodiscard]] const Command* parsed_command(const std::vector<Command>& commands);

}  // namespace foretrain
