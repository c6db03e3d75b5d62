// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/inputs/job.hpp"

namespace foretrain {

/// What decides how many micro-batches a stage holds.
struct InFlightShape {
  ScheduleKind schedule = ScheduleKind::one_f_one_b;
  int stages = 1;
  int virtual_stages = 1;
  int microbatches = 1;
  int group = 1;  ///< interleaving: consecutive micro-batches of one chunk
  int extra = 0;  ///< micro-batches more, for a vocabulary that is split over the stages
};

[[nodiscard]] InFlightShape in_flight_shape(const Job& job);

/// Forward passes of one chunk of one stage whose activations are alive when the stage holds most,
/// the newest included. Sources by schedule: models/README.md, "Memory".
/// @pre 0 <= stage < stages, 0 <= chunk < virtual_stages, microbatches >= 1.
[[nodiscard]] int live_passes(const InFlightShape& shape, int stage, int chunk);

}  // namespace foretrain
