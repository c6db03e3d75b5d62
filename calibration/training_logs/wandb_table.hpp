// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <istream>
#include <string>
#include <string_view>

#include "calibration/training_logs/log_file_reader.hpp"

namespace foretrain {

/// Whether a text begins as a table of comma-separated values may; its first line may go on.
[[nodiscard]] bool may_be_table(std::string_view front);

/// A table that Weights & Biases exports: of a chart (`"Step","run - train/loss",...`), of a run's
/// history (`_step`, `_runtime`, ...) or of runs (`"Name","State","Notes",...`).
/// @param front its first line, and perhaps more
[[nodiscard]] bool is_wandb_table(std::string_view front);

/// Reads such a table row by row: steps of charts and histories; of tables of runs only what a
/// single row says of one run's plan. Of a chart of several runs the first is taken.
/// @param front what was read of it before
[[nodiscard]] LogFile read_wandb_table(std::string_view front, std::istream& input);

}  // namespace foretrain
