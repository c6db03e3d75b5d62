// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/imports/shell/shell_variables.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// A command of a script with its words expanded. What only running it would tell stays written
/// as "${NAME}" or "$(command)".
struct ShellCommand {
  std::vector<std::string> words;
  int line = 0;
  bool undecided = false;  ///< under a condition that only running the script would decide
};

/// A script as far as reading it tells.
struct ShellScript {
  std::vector<ShellCommand> commands;
  std::vector<std::string> directives;  ///< words of all #SBATCH lines
  ShellVariables variables;             ///< at its end
};

/// Follows a script without running anything: assignments, arrays, expansions with defaults,
/// arithmetic, if, case, `bash -c "..."` and `eval`. A command counts as run where its conditions
/// are decided, and as undecided elsewhere; variables that are set there are doubted from then on.
/// Loops are followed once, functions are not. Limits: shell_tokens.hpp.
/// @param given variables that hold before the script starts and that it cannot change
[[nodiscard]] ShellScript follow_shell_script(std::string_view text, const std::string& name,
                                              const std::map<std::string, std::string>& given,
                                              Diagnostics& diagnostics);

}  // namespace foretrain
