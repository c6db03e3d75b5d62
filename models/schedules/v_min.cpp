// SPDX-License-Identifier: Apache-2.0
// V-Min: a third of 1F1B's activations (arXiv 2405.15362 section 3).
#include "models/schedules/internal/v_shaped.hpp"

namespace foretrain::schedule_detail {
namespace {

/// Every pass follows that of the neighbour at once; three stages (six, nine) need a shift, or two
/// passes would meet.
VBlock min_block(int stages, int stage) {
  const int shift = stages % 3 == 0 ? 2 : 0;
  return {stage, 2 * stages - stage - 1, 2 * stages + shift + stage,
          4 * stages + shift - stage - 1};
}

std::vector<std::vector<Pass>> v_min_order(const ScheduleShape& shape) {
  return v_shaped_order(shape, min_block, 2 * ((shape.stages + 4) / 3));
}

}  // namespace

constinit const ScheduleTraits v_min_traits =
    v_shaped_traits(v_min_order, "vmin zbv-min v-shape-min");

}  // namespace foretrain::schedule_detail
