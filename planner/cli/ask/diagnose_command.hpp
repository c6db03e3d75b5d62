// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/command.hpp"

namespace foretrain {

[[nodiscard]] Command add_diagnose_command(CLI::App& program);

}  // namespace foretrain
