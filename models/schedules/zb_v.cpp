// SPDX-License-Identifier: Apache-2.0
// ZB-V: arXiv 2401.10241 section 6, V-ZB of arXiv 2405.15362.
#include <algorithm>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

void input_and_weight_gradient(PassList& list, int chunk) {
  list.input_gradient(chunk);
  list.weight_gradient(chunk);
}

/// Fills both chunks, until 2 p chunk activations are alive and every stage has its first input
/// gradients of the second chunk.
void zb_v_warm_up(PassList& list, int stages, int stage) {
  for (int i = 0; i < 2 * (stages - stage) - 1; ++i) list.forward(0);
  for (int i = 0; i < stage; ++i) {
    list.forward(1);
    list.forward(0);
  }
  for (int i = 0; i < stages - stage; ++i) {
    list.forward(1);
    input_and_weight_gradient(list, 1);
  }
}

void zb_v_cool_down(PassList& list, int stages, int stage) {
  for (int i = 0; i < stage; ++i) {
    list.input_gradient(0);
    list.input_gradient(1);
  }
  for (int i = 0; i < stages - stage; ++i) input_and_weight_gradient(list, 0);
  for (const int chunk : {1, 0})
    while (list.weights(chunk) < list.backwards(chunk)) list.weight_gradient(chunk);
}

std::vector<Pass> zb_v_stage(const ScheduleShape& shape, int stage) {
  PassList list(shape.microbatches, 6 * shape.microbatches);
  // Fewer micro-batches than fill the pipeline: the order for a full one without the missing.
  const int micros = std::max(shape.microbatches, 2 * shape.stages - 1);
  zb_v_warm_up(list, shape.stages, stage);
  while (list.forwards(1) < list.forwards(0) || list.forwards(0) < micros) {
    if (list.forwards(0) < micros) list.forward(0);
    input_and_weight_gradient(list, 0);
    list.forward(1);
    input_and_weight_gradient(list, 1);
  }
  zb_v_cool_down(list, shape.stages, stage);
  return list.take();
}

}  // namespace

constinit const ScheduleTraits zb_v_traits{
    .order = stage_by_stage<zb_v_stage>,
    .citation = "arXiv 2401.10241 section 6",
    .aliases = "zbv v-zb",
    .chunks = 2,
    .placement = Placement::folded,
    .splits_backward = true,
    .fitted = Fitted::weight_gradients,
    .fitted_chunks = 2,
    .in_pytorch = true,
    .sends_beside_passes = true,
};

}  // namespace foretrain::schedule_detail
