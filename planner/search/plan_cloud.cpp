// SPDX-License-Identifier: Apache-2.0
#include "planner/search/plan_cloud.hpp"

#include <limits>

#include "models/base/require.hpp"
#include "models/rules/plan_rules.hpp"

namespace foretrain {

SearchSpace cloud_space(const Scenario& scenario) {
  SearchSpace space = default_space(scenario.job);
  set_axis(space, scenario.job, "parallel.zero=0,1,2,3");
  return space;
}

PlanCloud plan_cloud(const Scenario& scenario, const SearchSpace& space,
                     const SearchOptions& options) {
  FORETRAIN_REQUIRE(space.machines.size() == 1 && space.global_batch.size() == 1);
  FORETRAIN_REQUIRE(options.by == RankBy::time);
  SearchResult result = search(scenario.job, space, options);
  PlanCloud cloud{space, result.combinations, result.evaluated, result.feasible, {}, std::nullopt};
  double lightest = std::numeric_limits<double>::infinity();
  for (const ScoredPlan& plan : result.best) {  // the fastest first
    const BlockChoice choice = block_choice(space, plan.index / space.block());
    const bool front = plan.peak.value() < lightest;
    if (front) lightest = plan.peak.value();
    cloud.points.push_back(
        {plan.index, plan.step, plan.peak, choice.tensor, choice.pipeline, front});
  }
  if (!refusals(scenario.job).empty()) return cloud;
  const ScoredPlan own = score(scenario.job);
  if (own.peak <= scenario.job.cluster.host.device.usable_memory) cloud.own = own;
  return cloud;
}

std::vector<std::string> cloud_settings(const Scenario& scenario, const PlanCloud& cloud,
                                        const CloudPoint& point) {
  return settings_at(scenario.job, cloud.space, point.index);
}

}  // namespace foretrain
