// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "planner/forecast/search_limits.hpp"
#include "planner/search/search_space.hpp"
#include "scenarios/resolve/scenario.hpp"

namespace foretrain {

enum class RankBy { time, cost, energy, gpus };
FORETRAIN_ENUM_NAMES(RankBy, {RankBy::time, "time"}, {RankBy::cost, "cost"},
                     {RankBy::energy, "energy"}, {RankBy::gpus, "gpus"});

/// What plans are ordered by; smaller is better. All per sequence, so that batches and machines
/// compare.
struct PlanKey {
  double first = 0.0;  ///< what RankBy asks for
  double time = 0.0;   ///< seconds per sequence

  friend auto operator<=>(const PlanKey&, const PlanKey&) = default;
};

struct SearchOptions {
  /// time: seconds per sequence; cost and energy: GPU-seconds per sequence, since all plans share
  /// one price and one power of a GPU (models/run/machine_power.hpp); gpus: fewest, then time.
  /// Equal plans are ordered by memory, then by their place in the space.
  RankBy by = RankBy::time;
  std::size_t top = 10;       ///< plans to keep. @pre >= 1
  std::size_t on_fabric = 0;  ///< of the best by path, played by the event engine and ordered by it
  SearchLimits limits{};
  /// Plans that are better than this one are counted: SearchResult::better.
  std::optional<PlanKey> reference{};
  std::optional<Seconds> time_box;          ///< ends the enumeration early
  int threads = 2;                          ///< the result is the same for any number. @pre >= 1
  const std::atomic<bool>* stop = nullptr;  ///< set from outside to end early
  /// Called now and then by the calling thread with the combinations done so far.
  std::function<void(std::int64_t)> progress{};
};

/// A plan that obeys every rule and limit, timed in closed form.
struct ScoredPlan {
  std::int64_t index = 0;  ///< place in the space
  Seconds step;
  Bytes peak;  ///< of the heaviest stage
  Bytes high;  ///< of it at the upper end of the memory band

  [[nodiscard]] MemoryNeed need() const { return {peak, high}; }
};

/// A plan that stays outside of one limit.
struct NearPlan {
  ScoredPlan plan;
  Excess excess;
};

struct Rejection {
  std::int64_t count = 0;
  std::string example;  ///< the message of the first one in the order of the space
};

struct SearchResult {
  std::int64_t combinations = 0;
  std::int64_t evaluated = 0;  ///< fewer when the search was ended early
  std::int64_t feasible = 0;
  std::int64_t better = 0;                    ///< than SearchOptions::reference
  std::map<std::string, Rejection> rejected;  ///< by the first rule broken; sums with `feasible`
  std::vector<ScoredPlan> best;               ///< at most SearchOptions::top, best first
  std::vector<ScoredPlan> pareto;  ///< of GPU-seconds against seconds per sequence, fastest first
  /// When nothing is feasible: the plan that exceeds its limits by least, or, where memory stands
  /// in the way of all, the one that lacks the least. Absent where no combination is legal and
  /// modelled.
  std::optional<NearPlan> nearest;

  [[nodiscard]] bool complete() const { return evaluated == combinations; }
};

/// Tries every combination of the space: plan rules, memory, then the closed form, then limits.
/// @pre check_space(space); limits and ranking are known for the job (limit_problem())
[[nodiscard]] SearchResult search(const Job& base, const SearchSpace& space,
                                  const SearchOptions& options = {});

/// What a plan is ordered by when its step takes that long.
[[nodiscard]] PlanKey plan_key(const Job& job, RankBy by, Seconds step);

/// Memory and time of a step in closed form, as the search computes them.
/// @pre broken_rules(job) and not_modelled(job) are empty
[[nodiscard]] ScoredPlan score(const Job& job);

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
