// SPDX-License-Identifier: Apache-2.0
// ZB-H1: arXiv 2401.10241 section 2.1. Its automatic form is ZB-1p.
#include <algorithm>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

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
  list.drain(micros);
  return list.take();
}

}  // namespace

constinit const ScheduleTraits zb_h1_traits{
    .order = stage_by_stage<zb_h1_stage>,
    .citation = "arXiv 2401.10241 section 2.1",
    .aliases = "zb-1p",
    .splits_backward = true,
    .fitted = Fitted::all_passes,
    .fitted_chunks = 1,
    .drop_in = true,
    .sends_beside_passes = true,
    .waits_for_vocabulary = true,
};

}  // namespace foretrain::schedule_detail
