// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/schedules/registry.hpp"

namespace foretrain::schedule_detail {

/// The traits of every schedule, each defined in the file of its name.
#define FORETRAIN_DECLARE(identifier, name) extern const ScheduleTraits identifier##_traits;
FORETRAIN_SCHEDULES(FORETRAIN_DECLARE)
#undef FORETRAIN_DECLARE

/// The orders of all stages where each follows from its own stage alone.
template <std::vector<Pass> (*stage_order)(const ScheduleShape&, int)>
std::vector<std::vector<Pass>> stage_by_stage(const ScheduleShape& shape) {
  std::vector<std::vector<Pass>> stages;
  stages.reserve(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) stages.push_back(stage_order(shape, stage));
  return stages;
}

}  // namespace foretrain::schedule_detail
