// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "models/step/step_costs.hpp"
#include "models/step/step_exchanges.hpp"
#include "models/step/task_graph.hpp"

namespace foretrain {

/// @throws TooLarge where a step is more than most_graph_tasks.
void refuse_too_large(std::int64_t tasks, const ScheduleShape& shape);

/// One optimizer step as a task graph: passes in schedule order, transfers between stages,
/// gathering of weights before and reduction of gradients after, the join of all stages for the
/// gradient norm, the optimizer and the step's fixed cost. At layer detail a pass is a row of
/// layers, at operator detail a row of kernels and exchanges; the parts of a pass sum to the pass
/// at every detail. With `exchanges`, tasks tell what they exchange.
/// @throws TooLarge beyond most_graph_tasks
/// @pre schedule.shape == costs.shape; `operators` is given at operator detail.
[[nodiscard]] TaskGraph build_graph(const StepCosts& costs, const Schedule& schedule,
                                    Detail detail = Detail::pass,
                                    const PieceOperators* operators = nullptr,
                                    const StepExchanges* exchanges = nullptr);

}  // namespace foretrain
