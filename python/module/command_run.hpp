// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/cli/program.hpp"

namespace foretrain {

/// Runs a command line as run_captured() does, on a thread of its own, with the interpreter free
/// meanwhile. Commands of several threads run one after another. Ctrl-C ends the wait within a
/// second with KeyboardInterrupt: work that looks stops, other work goes on unheard and holds up
/// the next command. @pre the caller holds the GIL
/// @throws as run_captured(); py::error_already_set for KeyboardInterrupt
[[nodiscard]] CapturedRun run_command(std::vector<std::string> words, std::string input);

/// Waits for commands that were given up. To be called before the interpreter ends.
void join_commands();

}  // namespace foretrain
