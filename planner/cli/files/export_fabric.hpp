// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "planner/cli/command.hpp"

namespace foretrain {

/// Adds to `export` what describes machines and steps to other tools: nccl-tuner, simgrid, dot and
/// chakra.
[[nodiscard]] std::vector<Command> add_fabric_exports(CLI::App& exports);

/// "trace.%d.et" with %d replaced by a rank. @throws UsageError where it has no %d, or several
[[nodiscard]] std::string rank_file(const std::string& pattern, int rank);

/// `foretrain replay`: a Chakra trace on the fabric of a scenario.
[[nodiscard]] Command add_replay_command(CLI::App& program);

}  // namespace foretrain
