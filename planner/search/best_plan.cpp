// SPDX-License-Identifier: Apache-2.0
#include "planner/search/best_plan.hpp"

namespace foretrain {

std::optional<BestPlan> best_plan(const Scenario& scenario, RankBy by, int threads,
                                  const SearchLimits& limits, const std::atomic<bool>* stop) {
  const SearchSpace space = default_space(scenario.job);
  SearchOptions options;
  options.by = by;
  options.top = 1;
  options.threads = threads;
  options.limits = limits;
  options.stop = stop;
  const SearchResult result = search(scenario.job, space, options);
  if (result.best.empty()) return std::nullopt;
  const std::int64_t index = result.best.front().index;
  BestPlan best{scenario, settings_at(scenario.job, space, index)};
  best.scenario.job = job_at(scenario.job, space, index);
  return best;
}

}  // namespace foretrain
