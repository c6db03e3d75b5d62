// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "calibration/training_logs/step_series.hpp"

namespace foretrain {

/// Reads tqdm's `12/100 [00:42<05:10, 3.51s/it]`: step, total, and seconds since it began.
/// @param at within the brackets
void read_bar(std::string_view line, std::size_t at, StepRecord& record);

/// Seconds per step of the first "rate:1.4it/s" or "rate:2.0s/it" behind a place, as Levanter
/// prints them.
[[nodiscard]] std::optional<double> bar_rate(std::string_view line, std::size_t at);

}  // namespace foretrain
