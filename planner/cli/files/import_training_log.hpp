// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "planner/cli/command.hpp"

namespace foretrain {

/// `import log`: training logs as a record of the run.
[[nodiscard]] Command add_training_log_import(CLI::App& import);

}  // namespace foretrain
