// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/cli/command.hpp"

namespace foretrain {

/// Adds to `export` what launches a scenario: megatron, deepspeed, torchtitan, nanotron, sbatch.
[[nodiscard]] std::vector<Command> add_launch_exports(CLI::App& app);

}  // namespace foretrain
