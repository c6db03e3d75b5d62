// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "models/schedules/schedule.hpp"

namespace foretrain {

/// After some micro-batches the order of passes repeats with a fixed period: whatever a step of
/// many takes is what a step of fewer takes, and a number of times what a period adds.
struct ScheduleFold {
  ScheduleShape longer;   ///< past the start, with some periods of the steady state
  ScheduleShape shorter;  ///< a few periods less
  double times = 0.0;     ///< that `longer` less `shorter` is added to `longer`
};

/// Absent where the schedule is too short to leave out anything.
[[nodiscard]] std::optional<ScheduleFold> fold_of(const ScheduleShape& shape);

}  // namespace foretrain
