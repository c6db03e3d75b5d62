// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <pybind11/pybind11.h>

namespace foretrain {

/// All commands that make sense outside of a shell, with their options and arguments as the program
/// declares them: a tree of dicts (name, help, notes, examples, options, arguments, commands).
[[nodiscard]] pybind11::dict command_table();

}  // namespace foretrain
