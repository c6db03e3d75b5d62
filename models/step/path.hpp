// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/base/prediction.hpp"
#include "models/step/task_graph.hpp"

namespace foretrain {

/// Start of every task when nothing is shared: each starts once its last predecessor has ended.
struct Timeline {
  std::vector<Seconds> start;  ///< by task id
  std::vector<Seconds> end;
  Seconds makespan;
};

/// Longest path through the graph, one sweep over its tasks and edges. The makespan is the length
/// of a step in steady state: of the whole graph, or of its longest rank where ranks are staggered.
[[nodiscard]] Timeline longest_path(const TaskGraph& graph);

/// Makespan from starts and ends that something else has found, as longest_path() measures its own.
/// @pre both are given for every task.
void measure_makespan(const TaskGraph& graph, Timeline& timeline);

/// Task ids of one longest path, first to last: every task starts when the one before it ends.
[[nodiscard]] std::vector<std::uint32_t> critical_path(const TaskGraph& graph,
                                                       const Timeline& timeline);

/// Time of the step and where it goes, without a band: models/step/README.md, "Breakdown". `jitter`
/// and `release` as in StepCosts, which the graph does not have in it.
[[nodiscard]] StepForecast attribute(const TaskGraph& graph, const Timeline& timeline,
                                     double jitter = 0.0, double release = 1.0);

}  // namespace foretrain
