// SPDX-License-Identifier: Apache-2.0
#include "planner/edit/scenario_draft.hpp"

#include <catch2/catch.hpp>

#include "models/schedules/registry.hpp"

using namespace foretrain;

TEST_CASE("edit: a schedule follows the number of chunks", "[planner][edit]") {
  CHECK(runs_chosen_chunks("interleaved"));
  CHECK_FALSE(runs_chosen_chunks("1f1b"));
  CHECK_FALSE(runs_chosen_chunks("zb-v"));  // two, whatever a plan says
  CHECK_FALSE(runs_chosen_chunks(""));      // left out: the default
  CHECK(schedule_for_chunks("1f1b", true) == "interleaved");
  CHECK(schedule_for_chunks("interleaved", false) == "1f1b");
  for (const auto name : all_names<ScheduleKind>()) {
    CAPTURE(name);
    CHECK(runs_chosen_chunks(schedule_for_chunks(name, true)));
    CHECK_FALSE(runs_chosen_chunks(schedule_for_chunks(name, false)));
  }
}
