// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/registry.hpp"

#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "tests/models/schedules/schedule_simulator.hpp"

namespace foretrain {
namespace {

ScheduleShape example_of(ScheduleKind kind, int stages, int microbatches) {
  return shape_of(kind, stages, microbatches, traits_of(kind).chunks == chunks_chosen ? 2 : 1);
}

}  // namespace

TEST_CASE("what the traits of a schedule say is what its order does", "[models][schedule]") {
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names) {
    INFO(name);
    const ScheduleTraits& traits = traits_of(kind);
    REQUIRE(traits.order);
    const ScheduleShape shape = example_of(kind, 4, 16);
    REQUIRE(is_legal(shape));
    const Schedule schedule = make_schedule(shape);
    CHECK(schedule.splits_backward() == traits.splits_backward);
    bool together = false;
    for (int stage = 0; stage < shape.stages; ++stage)
      for (std::size_t i = 0; i < schedule.stages[static_cast<std::size_t>(stage)].size(); ++i)
        together = together || overlaps_next(schedule, stage, i);
    CHECK(together == traits.overlaps);
    CHECK((traits.fitted == Fitted::nothing || traits.splits_backward));
    CHECK((traits.fitted == Fitted::nothing) == (traits.fitted_chunks == 0));
    CHECK((traits.formula == StepFormula::none || traits.chunks == 1));
    CHECK((traits.legal == nullptr) == (traits.fault == nullptr));
  }
}

TEST_CASE("copies of weights are counted from the places of a schedule", "[models][schedule]") {
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names) {
    INFO(name);
    Parallel plan;
    plan.schedule = kind;
    plan.pipeline = 4;
    plan.virtual_stages = traits_of(kind).chunks == chunks_chosen ? 3 : 1;
    std::set<std::pair<int, int>> places;  // stage and chunk that run position 0
    const ScheduleShape shape = example_of(kind, 4, 16);
    for (int micro = 0; micro < shape.microbatches; ++micro) {
      const PipelinePlace place = place_at(shape, 0, micro);
      places.insert({place.stage, place.chunk});
    }
    CHECK(weight_copies(plan) == static_cast<int>(places.size()));
    CHECK(holds_mirror(plan) == (places.size() == 2));
    plan.pipeline = 1;
    CHECK(weight_copies(plan) == 1);
    CHECK_FALSE(holds_mirror(plan));
    CHECK_FALSE(folds(plan));
  }
}

TEST_CASE("a schedule is called by its name and by its names in papers and logs",
          "[models][schedule]") {
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names)
    CHECK(schedule_called(name) == kind);
  CHECK(schedule_called("zb-1p") == ScheduleKind::zb_h1);
  CHECK(schedule_called("1f1b-i") == ScheduleKind::interleaved);
  CHECK(schedule_called("interleaved 1f1b") == ScheduleKind::interleaved);
  CHECK(schedule_called("1f1b interlaced tp vocab") == ScheduleKind::one_f_one_b);
  CHECK(schedule_called("zbv-half + vocabulary parallel") == ScheduleKind::v_half);
  CHECK(schedule_called("v-zb") == ScheduleKind::zb_v);
  CHECK_FALSE(schedule_called("chimera"));
  CHECK_FALSE(schedule_called(""));
}

TEST_CASE("searches try 1F1B and interleaving unasked", "[models][schedule]") {
  CHECK(common_schedules() ==
        std::vector<ScheduleKind>{ScheduleKind::one_f_one_b, ScheduleKind::interleaved});
}

}  // namespace foretrain
