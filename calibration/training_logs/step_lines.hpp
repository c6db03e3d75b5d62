// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "calibration/training_logs/step_series.hpp"

namespace foretrain {

// Lines of steps that say more than words and their values.

/// Reads tqdm's `12/100 [00:42<05:10, 3.51s/it]`: step, total, and seconds since it began.
/// @param at within the brackets
void read_bar(std::string_view line, std::size_t at, StepRecord& record);

/// Seconds per step of the first "rate:1.4it/s" or "rate:2.0s/it" behind a place, as Levanter
/// prints them.
[[nodiscard]] std::optional<double> bar_rate(std::string_view line, std::size_t at);

/// LitGPT prints a line per micro-batch: `iter 8 step 2 | ... | iter time: 112.20 ms (step)`. The
/// one with `(step)` ends a step; what stands before it is a part of that. Lines may be left out
/// (`log_interval`): then those that are there tell what all of them take.
class MicroBatches {
 public:
  /// @return the step that this line ends; nothing where it is a micro-batch before its end. Lines
  /// that count no steps are steps themselves.
  [[nodiscard]] std::optional<StepRecord> take(std::string_view line, const StepRecord& record);

 private:
  double seconds_ = 0.0;
  int lines_ = 0;
  double last_iteration_ = 0.0, last_step_ = 0.0;
};

}  // namespace foretrain
