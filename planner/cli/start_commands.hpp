// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/command.hpp"

namespace foretrain {

// Commands for the first hour: a first scenario, whether everything is in place, and help where the
// shell and man look for it.

[[nodiscard]] Command add_init_command(CLI::App& program);
[[nodiscard]] Command add_device_command(CLI::App& program);
[[nodiscard]] Command add_doctor_command(CLI::App& program);
/// Reads the whole tree of commands when it runs. @pre `program` outlives the command
[[nodiscard]] Command add_completion_command(CLI::App& program);
[[nodiscard]] Command add_man_command(CLI::App& program);

}  // namespace foretrain
