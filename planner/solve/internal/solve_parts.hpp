// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/inputs/job.hpp"
#include "planner/search/search.hpp"
#include "planner/solve/solve.hpp"

namespace foretrain {

/// A number with its texts; `text` is what people read.
[[nodiscard]] SolveValue solve_value(std::string key, std::string label, double number,
                                     std::string text);
/// The same without a number.
[[nodiscard]] SolveValue solve_word(std::string key, std::string label, std::string text);
/// A whole number.
[[nodiscard]] SolveValue solve_count(std::string key, std::string label, double number);

/// A plan and the memory of its heaviest stage.
struct LightPlan {
  Job job;
  MemoryNeed need;
  std::vector<std::string> settings;  ///< as for --set
};

/// The plan that needs least memory on this machine, of all tensor, pipeline, context and expert
/// sizes and granularities of recomputation with 1F1B and micro-batches of one sequence; absent
/// where none is legal.
[[nodiscard]] std::optional<LightPlan> lightest_plan(const Job& job, int threads);

/// "tp 8 pp 4 vp 2 dp 32 zero 1 mbs 1 recompute full" of a job.
[[nodiscard]] std::string plan_words(const Job& job);

/// @throws UsageError where the plan is illegal, not modelled or, with `memory`, does not fit
void require_runs(const Scenario& scenario, bool memory = true);

/// The largest number of 1..most that is good, by doubling and halving: at most 2 log2(most) + 1
/// questions. 0 when 1 is not good. @pre what is good at a number is good at every smaller one
[[nodiscard]] std::int64_t largest_good(std::int64_t most,
                                        const std::function<bool(std::int64_t)>& good);

/// The least factor of low..high that is good, to within a relative `resolution`. Nothing when
/// `high` is not good; `low` when it is good itself.
/// @pre what is good at a factor is good at every larger one; 0 < low < high; resolution > 0
[[nodiscard]] std::optional<double> least_good(double low, double high, double resolution,
                                               const std::function<bool(double)>& good);

}  // namespace foretrain
