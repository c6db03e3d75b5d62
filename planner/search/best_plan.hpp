// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "planner/search/search.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

/// A scenario with the best plan of its default space in place of its own.
struct BestPlan {
  Scenario scenario;
  std::vector<std::string> settings;  ///< of the plan, as for --set
};

/// Searches by closed form. Nothing where no plan keeps the limits, by default those of memory
/// alone, or none was found before `stop` turned true.
[[nodiscard]] std::optional<BestPlan> best_plan(const Scenario& scenario, RankBy by = RankBy::time,
                                                int threads = 2, const SearchLimits& limits = {},
                                                const std::atomic<bool>* stop = nullptr);

}  // namespace foretrain
