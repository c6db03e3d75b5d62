// SPDX-License-Identifier: Apache-2.0
// The handcrafted orders of arXiv 2401.10241: section 2 (ZB-H1, ZB-H2) and section 6 (ZB-V).
#include <algorithm>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {

/// 1F1B in which stage s holds back s weight gradients, so that every stage has as many
/// micro-batches in flight as the first one has in 1F1B.
std::vector<Pass> zb_h1_stage(const ScheduleShape& shape, int stage) {
  const int micros = shape.microbatches;
  PassList list(micros, 3 * micros);
  const int warm_up = std::min(micros, shape.stages - 1 - stage);
  for (int i = 0; i < warm_up; ++i) list.forward();
  while (list.forwards() < micros) {
    list.forward();
    list.input_gradient();
    if (list.backwards() > stage) list.weight_gradient();
  }
  while (list.backwards() < micros) {
    list.input_gradient();
    list.weight_gradient();
  }
  while (list.weights() < micros) list.weight_gradient();
  return list.take();
}

/// The warm-up is long enough to cover the way to the last stage and back. Stage s then runs 2 s
/// micro-batches without their weight gradients; these it makes up for at the end, while the last
/// input gradients travel to the first stage.
std::vector<Pass> zb_2p_stage(const ScheduleShape& shape, int stage) {
  const int micros = shape.microbatches;
  PassList list(micros, 3 * micros);
  const int warm_up = std::min(micros, 2 * (shape.stages - stage) - 1);
  for (int i = 0; i < warm_up; ++i) list.forward();
  while (list.forwards() < micros) {
    list.input_gradient();
    if (list.backwards() > 2 * stage) list.weight_gradient();
    list.forward();
  }
  while (list.backwards() < micros) {
    list.input_gradient();
    list.weight_gradient();
  }
  while (list.weights() < micros) list.weight_gradient();
  return list.take();
}

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

}  // namespace

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

}  // namespace foretrain::schedule_detail
