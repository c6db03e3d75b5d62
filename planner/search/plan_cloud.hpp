// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

struct Scene;
struct SceneSpace;

/// One plan that can run, for pictures of all of them.
struct CloudPoint {
  std::int64_t index = 0;  ///< place in the space
  Seconds step;
  Bytes peak;  ///< of the heaviest stage
  int tensor = 1;
  int pipeline = 1;
  bool front = false;  ///< nothing else is both faster and lighter
};

/// Plans of a search by time and memory.
struct PlanCloud {
  SearchSpace space;
  std::int64_t combinations = 0;
  std::int64_t evaluated = 0;  ///< fewer when the search was ended early
  std::int64_t feasible = 0;
  std::vector<CloudPoint> points;  ///< the fastest first
  std::optional<ScoredPlan> own;   ///< the scenario's plan, where it can run
};

/// The default space with every ZeRO stage: what a picture of a search shows.
[[nodiscard]] SearchSpace cloud_space(const Scenario& scenario);

/// Searches by time. At most options.top points, the fastest; the front is that of the points.
/// @pre as for search(); the space has one machine and one batch
[[nodiscard]] PlanCloud plan_cloud(const Scenario& scenario, const SearchSpace& space,
                                   const SearchOptions& options);

/// What a point of a cloud sets, as for --set.
[[nodiscard]] std::vector<std::string> cloud_settings(const Scenario& scenario,
                                                      const PlanCloud& cloud,
                                                      const CloudPoint& point);

/// Plans by memory and step time, the tensor degree as colour; the line joins those that nothing
/// beats in both. A mark's target has the index of its point as task. @pre there is a point
[[nodiscard]] Scene plan_cloud_chart(const PlanCloud& cloud, const SceneSpace& space);

}  // namespace foretrain
