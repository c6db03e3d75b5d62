// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/cli/command_row.hpp"

namespace foretrain {

/// Runs one command line, `argv[0]` being the program. One at a time in a process.
/// @return the exit code; wrong usage is told on standard error
/// @throws ScenarioError, UsageError, TooLarge, PlugInMissing, SystemError, ClosedPipe
[[nodiscard]] int run_program(int argc, const char* const* argv);

/// What a command line said, to the byte.
struct CapturedRun {
  int exit_code = 0;
  std::string output;                    ///< standard output
  std::vector<std::string> diagnostics;  ///< lines of standard error
};

/// The same for a program that this one is part of: nothing is read from or written to the streams
/// of the process. @param words without the program @param input stands for standard input
/// @throws as run_program()
[[nodiscard]] CapturedRun run_captured(const std::vector<std::string>& words, std::string input);

/// All commands with their options.
[[nodiscard]] CommandRow program_row();

}  // namespace foretrain
