// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "models/prediction.hpp"
#include "models/task_graph.hpp"

namespace foretrain {

/// Start of every task when nothing is shared: each starts once its last predecessor has ended.
struct Timeline {
  std::vector<Seconds> start;  ///< by task id
  std::vector<Seconds> end;
  Seconds makespan;
  std::int32_t longest_rank = -1;  ///< of a staggered graph
};

/// Longest path through the graph, one sweep over its tasks and edges. The makespan is the length
/// of a step in steady state: of the whole graph, or of its longest rank where ranks are staggered.
[[nodiscard]] Timeline longest_path(const TaskGraph& graph);

/// Makespan and longest rank from starts and ends that something else has found, as longest_path()
/// measures its own. @pre both are given for every task.
void measure_makespan(const TaskGraph& graph, Timeline& timeline);

/// Task ids of one longest path, first to last: every task starts when the one before it ends.
[[nodiscard]] std::vector<std::uint32_t> critical_path(const TaskGraph& graph,
                                                       const Timeline& timeline);

/// Exposed time by cause; sums to the makespan. Compute, recompute and the exchanges inside passes
/// are means over the ranks, `imbalance` what the busiest rank adds, `pipeline` what the step would
/// be shorter without transfers, `bubble` what the pipeline adds besides; data traffic, optimizer,
/// input and constants are what the critical path spends on them.
[[nodiscard]] TimeBreakdown attribute(const TaskGraph& graph, const Timeline& timeline);

}  // namespace foretrain
