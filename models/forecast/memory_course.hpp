// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "models/base/memory_items.hpp"
#include "models/base/quantity.hpp"
#include "models/forecast/path_forecast.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/job.hpp"

namespace foretrain {

/// Device memory of one stage at one time of a step.
struct MemoryPoint {
  Seconds time;
  std::array<Bytes, memory_categories> of{};  ///< by MemoryCategory
  double alive = 0.0;  ///< micro-batches whose activations are held, partly held ones in parts

  [[nodiscard]] Bytes total() const;
  [[nodiscard]] Bytes in(MemoryCategory category) const {
    return of[static_cast<std::size_t>(category)];
  }
};

/// Device memory of one stage's heaviest rank over a step: straight lines from point to point, two
/// points where it jumps.
struct MemoryCourse {
  int stage = 0;
  std::vector<MemoryPoint> points;  ///< ascending in time, from 0 to the end of the step
  std::size_t peak = 0;             ///< the first point with the largest total
};

/// Follows the stage's passes in time. Activations grow while a forward pass runs and shrink while
/// its backward pass does; where the backward pass is split, what its second half needs stays as
/// long (StepCosts::weight_share). Gradients, main gradients, buffers of a layer that goes
/// backward, and the loss are there in the phases that account_stage() counts them in. What lies
/// outside the allocator is the same all the time. For 1F1B, GPipe, interleaving and gradient
/// accumulation the peak is that of account_stage(); for the other schedules it is what the order
/// of passes holds, where account_stage() has the published bound.
/// @pre as for account_stage(); `path` is the job's own at detail `pass` or `layer`
[[nodiscard]] MemoryCourse memory_course(const Job& job, const StageLayout& layout,
                                         const StepPath& path, int stage);

}  // namespace foretrain
