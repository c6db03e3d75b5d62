// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/inputs/job.hpp"
#include "models/memory/memory.hpp"
#include "planner/forecast/run_end.hpp"

namespace foretrain {

/// Most of a GPU's usable memory that a plan takes where nobody says otherwise. The one place of
/// the default; the upper end of the memory band has to fit as well.
inline constexpr double default_memory_share = 0.95;

/// What a plan must keep to be of use. Where neither share nor headroom is given, plans keep the
/// default room.
struct SearchLimits {
  std::optional<double> max_memory_share{};  ///< of the usable memory of a GPU; 1: all of it
  std::optional<Bytes> headroom{};           ///< of it that stays free
  std::optional<Seconds> max_step{};
  std::optional<Seconds> max_run{};    ///< the expected run; the ideal one where goodput is unknown
  std::optional<Dollars> max_price{};  ///< of that run
  std::optional<Watts> max_power{};    ///< of all GPU boards at their limit

  /// Nobody said how much memory stays free.
  [[nodiscard]] bool default_room() const { return !max_memory_share && !headroom; }
  /// The share in force: as given, the default, or 1 where only headroom is given.
  [[nodiscard]] double memory_share() const;
  /// Bytes that a GPU may use.
  [[nodiscard]] Bytes memory_of(const Device& device) const;
  /// Whether a plan is judged by more than its memory.
  [[nodiscard]] bool judge_time() const;
};

/// How far a plan is beyond a limit.
struct Excess {
  std::string rule;     ///< out-of-memory, max-memory-share, headroom, max-step, deadline, ...
  double ratio = 0.0;   ///< value / limit, above 1
  std::string message;  ///< both, for people
};

/// The memory limit that a plan breaks. Everything that proposes plans asks here.
[[nodiscard]] std::optional<Excess> memory_excess(const SearchLimits& limits, const Device& device,
                                                  const MemoryNeed& need);
/// Its rule alone, without words for people; empty: the plan keeps them.
[[nodiscard]] std::string_view memory_rule(const SearchLimits& limits, const Device& device,
                                           const MemoryNeed& need);
/// Of the other limits, the one that is exceeded by most, judged by a forecast of the plan. What
/// the forecast does not know breaks its limit, infinitely.
[[nodiscard]] std::optional<Excess> run_excess(const SearchLimits& limits, const Job& job,
                                               const Prediction& forecast);
/// The same by closed form, where `step` is known already.
[[nodiscard]] std::optional<Excess> run_excess(const SearchLimits& limits, const Job& job,
                                               Seconds step);

/// Of what a plan is asked: whether it runs, or whether its memory fits though its time is not
/// modelled.
enum class PlanScope { run, memory_alone };

/// A plan as every command judges it.
struct PlanJudgement {
  std::vector<Infeasible> refused;  ///< refusals(): what simulate refuses whatever the memory
  MemoryNeed need;                  ///< where nothing is refused
  std::optional<Excess> excess;     ///< the memory limit that it breaks

  /// It runs and keeps the limits.
  [[nodiscard]] bool goes() const { return refused.empty() && !excess; }
};

/// "Can this plan run": rules, what is not modelled, memory. Asked by whatever offers a plan.
/// @param kept where many plans of one job are judged
[[nodiscard]] PlanJudgement judge_plan(const Job& job, const SearchLimits& limits,
                                       PlanScope scope = PlanScope::run,
                                       MemoryNeeds* kept = nullptr);

/// Why limits cannot be judged for a scenario, in one sentence for a usage error: a price that
/// nobody gave, a run without an end, headroom beyond the GPU. Empty: they can.
[[nodiscard]] std::string limit_problem(const SearchLimits& limits, const Job& job);

}  // namespace foretrain
