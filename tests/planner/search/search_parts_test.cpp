// SPDX-License-Identifier: Apache-2.0
// What a search keeps by axes is what a plan alone has, whatever was asked before.
#include <catch2/catch.hpp>

#include <string>

#include "models/forecast/closed_form.hpp"
#include "models/memory/memory.hpp"
#include "models/step/step_bounds.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"
#include "planner/search/search_space.hpp"
#include "tests/planner/random_scenarios.hpp"
#include "tests/planner/search/search_fixtures.hpp"

using namespace foretrain;
using foretrain::fixtures::Dice;

namespace {

/// Every axis with several values.
SearchSpace all_axes(const Job& job) {
  SearchSpace space = default_space(job);
  space.zero = {0, 1, 2, 3};
  space.schedule.clear();
  for (const auto& [kind, name] : EnumNames<ScheduleKind>::names) space.schedule.push_back(kind);
  space.order = {data_in_stage, stages_in_replica};
  space.sequence = {true, false};
  space.recompute.push_back(
      {"block", {.kind = RecomputeKind::full, .method = RecomputeMethod::block, .layers = 2}});
  return space;
}

/// Plans that obey the rules, of one scenario.
int check_plans(Dice& dice, const Scenario& scenario, int most) {
  const SearchSpace space = all_axes(scenario.job);
  MemoryNeeds needs;
  StepBounds bounds;
  int checked = 0;
  for (int i = 0; i < 400 * most && checked < most; ++i) {
    const auto index =
        static_cast<std::int64_t>(dice.below(static_cast<std::size_t>(space.size())));
    const Job job = job_at(scenario.job, space, index);
    if (fixtures::refusal_of(job, space)) continue;
    ++checked;
    CAPTURE(scenario.job.model.name, settings_at(scenario.job, space, index));
    const StageLayout layout = stage_layout(job.model, job.parallel);
    const MemoryNeed need = needs.of(job, layout);
    const MemoryForecast memory = forecast_memory(job, layout);
    CHECK(need.peak == memory.peak);
    CHECK(need.high == memory.high);
    const Seconds least = bounds.least(job, layout);
    StepBounds alone;
    CHECK(least == alone.least(job, layout));
    if (job.parallel.pipeline * job.microbatches() > 4096) continue;  // long orders take their time
    const StepCosts costs = step_costs(job, layout);
    const Seconds step = step_seconds(costs);
    CHECK(least <= step);
    CHECK(least_step_seconds(costs) <= step);
  }
  return checked;
}

}  // namespace

TEST_CASE("search: parts that are kept give the memory and the bounds of plans alone",
          "[planner][search][property]") {
  Dice dice{20};
  int checked = 0;
  while (checked < 2000)
    if (const auto scenario = fixtures::random_scenario(dice))
      checked += check_plans(dice, *scenario, 50);
}

TEST_CASE("search: the same of a plan with images", "[planner][search][property]") {
  Dice dice{21};
  const Scenario scenario =
      load_scenario(std::string(FORETRAIN_SOURCE_DIR) + "/scenarios/qwen3-vl-4b-sft-8xh100.yaml");
  CHECK(check_plans(dice, scenario, 200) == 200);
}
