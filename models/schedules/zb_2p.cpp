// SPDX-License-Identifier: Apache-2.0
// ZB-H2: arXiv 2401.10241 section 2.2. Its automatic form is ZB-2p.
#include <algorithm>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

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
  list.drain(micros);
  return list.take();
}

}  // namespace

constinit const ScheduleTraits zb_2p_traits{
    .order = stage_by_stage<zb_2p_stage>,
    .citation = "arXiv 2401.10241 section 2.2",
    .aliases = "zb-h2",
    .splits_backward = true,
    .staggered = true,
    .fitted = Fitted::all_passes,
    .fitted_chunks = 2,
    .fills_memory = true,  // the authors' runs of 1.5B and 14.6B hold 2 p - 1 whole ones
    .sends_beside_passes = true,
};

}  // namespace foretrain::schedule_detail
