// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/imports/shell/shell_tokens.hpp"
#include "scenarios/imports/shell/shell_variables.hpp"

namespace foretrain {

enum class ShellTruth { no, yes, unknown };

/// The condition of an `if`, tokens `at` to `end`: [ ], [[ ]] and test with =, ==, !=, -z, -n, -eq
/// and its relatives, joined by && and ||, with !. Variables that nothing sets count as empty.
/// Whatever asks the machine (files, commands) is unknown.
[[nodiscard]] ShellTruth shell_condition(const std::vector<ShellToken>& tokens, std::size_t at,
                                         std::size_t end, const ShellVariables& variables);

/// Whether a pattern of `case`, with * and ?, matches a text.
[[nodiscard]] bool shell_pattern_matches(std::string_view pattern, std::string_view text);

}  // namespace foretrain
