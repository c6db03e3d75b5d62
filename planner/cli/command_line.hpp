// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "planner/cli/command_row.hpp"

namespace foretrain {

/// A command line that was read.
struct ParsedLine {
  std::vector<const CommandRow*> path;  ///< from the program to the command that was named
  std::optional<int> exit_code{};       ///< help, a version or an error was told: nothing is to run
};

/// Fills the targets of the rows and what was given. Help and the version go to standard output,
/// wrong usage to standard error, with the nearest name where one was misspelt.
/// @throws UsageError
[[nodiscard]] ParsedLine parse_line(const CommandRow& program, int argc, const char* const* argv);

}  // namespace foretrain
