// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/job.hpp"
#include "models/names.hpp"
#include "models/prediction.hpp"
#include "planner/report.hpp"

namespace foretrain {

/// A way to recompute activations, under the name that a reader sees.
struct RecomputeChoice {
  std::string name;  ///< none, selective, full; "given": as the scenario has it
  Recompute value;
  bool given = false;  ///< the scenario's own: no setting has to say it
};

/// What a search tries: every combination of one value per axis. Data-parallel ranks are what the
/// machine has left. Everything else stays as the scenario has it.
struct SearchSpace {
  std::vector<Cluster> machines;  ///< resolved each for its own number of hosts
  std::vector<int> global_batch;
  std::vector<int> tensor;
  std::vector<int> pipeline;
  std::vector<int> context;
  std::vector<int> expert;
  std::vector<int> virtual_stages;
  std::vector<ScheduleKind> schedule;
  std::vector<int> zero;
  std::vector<int> micro_batch;
  std::vector<RecomputeChoice> recompute;
  std::vector<int> data;  ///< not an axis: where given, combinations that leave another are refused
  /// Sequence parallelism wherever tensor is above 1.
  bool sequence = true;

  /// Combinations. @pre at most most_combinations, which check_size() ensures
  [[nodiscard]] std::int64_t size() const;
  /// Combinations of one machine, batch, tensor, pipeline, context and expert size.
  [[nodiscard]] std::int64_t block() const;
};

inline constexpr std::int64_t most_combinations = 100'000'000;
inline constexpr std::int64_t most_blocks = 1'000'000;

/// The axes of the plan where the user says nothing: powers of two up to the GPUs of a host for
/// tensor, up to the layers for pipeline, while a rank keeps 1024 tokens (and up to 64) for
/// context, up to the experts for expert, up to 8 for the micro-batch; 1 to 8, 10, 12 and 16
/// virtual stages; 1f1b and interleaved; every granularity of recomputation and the scenario's own;
/// machine, batch and ZeRO stage as the scenario has them.
[[nodiscard]] SearchSpace default_space(const Job& job);

/// Replaces an axis by the values of "parallel.tensor=2,4,8". Machines are no number:
/// "cluster.hosts" is refused here, see planner/cli/plan_command.cpp.
/// @throws UsageError for unknown keys (with the nearest one) and for values that are not legal
void set_axis(SearchSpace& space, const Job& job, const std::string& text);

/// The whole numbers of "2,4,8". @throws UsageError naming `option` and `key`
[[nodiscard]] std::vector<int> whole_numbers(const std::string& key, const std::string& list,
                                             int least, int most);

/// {key, values} of every axis with its values as text, in the order of the enumeration.
[[nodiscard]] std::vector<std::pair<std::string, std::vector<std::string>>> axes_of(
    const SearchSpace& space);

/// @throws UsageError where the space has more than most_combinations or most_blocks, or none
void check_size(const SearchSpace& space);

enum class RankBy { time, cost, gpus };
FORETRAIN_ENUM_NAMES(RankBy, {RankBy::time, "time"}, {RankBy::cost, "cost"},
                     {RankBy::gpus, "gpus"});

struct SearchOptions {
  /// time: seconds per sequence; cost: GPU-seconds per sequence; gpus: fewest, then time. Equal
  /// plans are ordered by memory, then by their place in the space.
  RankBy by = RankBy::time;
  std::size_t top = 10;           ///< plans to keep. @pre >= 1
  double max_memory_share = 1.0;  ///< of the usable memory of a GPU
  std::optional<Seconds> max_step;
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
};

struct Rejection {
  std::int64_t count = 0;
  std::string example;  ///< the message of the first one in the order of the space
};

struct SearchResult {
  std::int64_t combinations = 0;
  std::int64_t evaluated = 0;  ///< fewer when the search was ended early
  std::int64_t feasible = 0;
  std::map<std::string, Rejection> rejected;  ///< by the first rule broken; sums with `feasible`
  std::vector<ScoredPlan> best;               ///< at most SearchOptions::top, best first
  std::vector<ScoredPlan> pareto;  ///< of GPU-seconds against seconds per sequence, fastest first
  /// When nothing is feasible: the plan that lacks the least memory or, where only max_step stands
  /// in the way, the fastest one. Absent where no combination is legal and modelled.
  std::optional<ScoredPlan> nearest;

  [[nodiscard]] bool complete() const { return evaluated == combinations; }
};

/// Tries every combination of the space: plan rules, memory, then the closed form.
/// @pre check_size(space)
[[nodiscard]] SearchResult search(const Job& base, const SearchSpace& space,
                                  const SearchOptions& options = {});

/// The job of a combination. parallel.data is zero where the machine does not divide.
[[nodiscard]] Job job_at(const Job& base, const SearchSpace& space, std::int64_t index);

/// Why a combination is refused before memory and time are looked at: the first broken rule.
[[nodiscard]] std::optional<Infeasible> refusal(const Job& job, const SearchSpace& space);

/// What a plan sets, as for --set.
[[nodiscard]] std::vector<std::string> settings_at(const Job& base, const SearchSpace& space,
                                                   std::int64_t index);

/// A plan with its whole forecast.
struct Finalist {
  ScoredPlan scored;
  std::string recompute;  ///< RecomputeChoice::name
  std::vector<std::string> settings;
  Report report;
};

/// All that the reports of a search show.
struct PlanReport {
  Scenario scenario;
  SearchSpace space;
  SearchOptions options;
  SearchResult result;
  std::vector<Finalist> plans;      ///< result.best by the longest path, ranked anew
  std::vector<Finalist> pareto;     ///< in closed form; empty for a single machine
  std::optional<Finalist> nearest;  ///< in closed form
};

/// Searches, then forecasts the best plans by the longest path and orders them by it.
[[nodiscard]] PlanReport plan(const Scenario& scenario, const SearchSpace& space,
                              const SearchOptions& options = {});

/// A scenario that extends `base` (a path relative to the new file) by `settings` in this order.
/// @throws UsageError for settings of list elements, which cannot be written as keys
[[nodiscard]] std::string scenario_with(const std::string& base, const std::string& name,
                                        const std::vector<std::string>& settings);

}  // namespace foretrain
