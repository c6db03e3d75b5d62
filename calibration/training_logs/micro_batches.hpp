// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "calibration/training_logs/step_series.hpp"

namespace foretrain {

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
