// SPDX-License-Identifier: Apache-2.0
// V-Half: half of 1F1B's activations (arXiv 2405.15362 section 3).
#include "models/schedules/internal/v_shaped.hpp"

namespace foretrain::schedule_detail {
namespace {

/// Forward through chunk 0 and input gradients of chunk 1 take two units from stage to stage, the
/// others one; an even number of stages needs a shift, or two passes would meet.
VBlock half_block(int stages, int stage) {
  const int shift = stages % 2 == 0 ? 3 : 0;
  return {2 * stage, 3 * stages - stage - 2, 3 * stages + shift + 2 * stage - 1,
          6 * stages + shift - stage - 2};
}

std::vector<std::vector<Pass>> v_half_order(const ScheduleShape& shape) {
  return v_shaped_order(shape, half_block, 2 * ((shape.stages + 2) / 2));
}

}  // namespace

constinit const ScheduleTraits v_half_traits =
    v_shaped_traits(v_half_order, "vhalf zbv-half v-shape-half");

}  // namespace foretrain::schedule_detail
