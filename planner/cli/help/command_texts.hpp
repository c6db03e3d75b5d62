// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "planner/cli/command_row.hpp"

namespace foretrain {

/// Scripts for the shells' completion.
[[nodiscard]] std::string bash_completion(const CommandRow& program);
[[nodiscard]] std::string zsh_completion(const CommandRow& program);
[[nodiscard]] std::string fish_completion(const CommandRow& program);

/// A page of the manual, section 1, in roff. @param path names from the program on, {"foretrain",
/// "show"} @param version of the program
[[nodiscard]] std::string manual_page(const CommandRow& command,
                                      const std::vector<std::string>& path,
                                      const std::string& version);

}  // namespace foretrain
