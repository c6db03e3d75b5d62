// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/schedule_chunks.hpp"

#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

const ScheduleTraits& traits_named(std::string_view schedule) {
  return traits_of(from_name<ScheduleKind>(schedule).value_or(default_schedule));
}

}  // namespace

bool runs_chosen_chunks(std::string_view schedule) {
  return traits_named(schedule).chunks == chunks_chosen;
}

std::string schedule_for_chunks(std::string_view schedule, bool several) {
  const ScheduleTraits& traits = traits_named(schedule);
  return std::string(name_of(several ? traits.in_chunks.value_or(schedule_in_chunks)
                                     : traits.in_one_chunk.value_or(default_schedule)));
}

}  // namespace foretrain
