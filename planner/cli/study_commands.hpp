// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/command.hpp"

namespace foretrain {

// Commands that forecast one scenario, or several, many times over.

[[nodiscard]] Command add_sensitivity_command(CLI::App& program);
[[nodiscard]] Command add_procure_command(CLI::App& program);
[[nodiscard]] Command add_cluster_command(CLI::App& program);
[[nodiscard]] Command add_serve_command(CLI::App& program);

}  // namespace foretrain
