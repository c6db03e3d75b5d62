// SPDX-License-Identifier: Apache-2.0
// 1F1B, PipeDream-flush: arXiv 2006.09503.
#include <algorithm>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

std::vector<Pass> one_f_one_b_stage(const ScheduleShape& shape, int stage) {
  PassList list(shape.microbatches, 2 * shape.microbatches);
  const int warm_up = std::min(shape.microbatches, shape.stages - 1 - stage);
  for (int i = 0; i < warm_up; ++i) list.forward();
  while (list.forwards() < shape.microbatches) {
    list.forward();
    list.backward();
  }
  for (int i = 0; i < warm_up; ++i) list.backward();
  return list.take();
}

}  // namespace

constinit const ScheduleTraits one_f_one_b_traits{
    .order = stage_by_stage<one_f_one_b_stage>,
    .citation = "arXiv 2006.09503, 2104.04473 figure 4",
    .formula = StepFormula::longest_loop,
    .in_chunks = ScheduleKind::interleaved,
    .common = true,
    .drop_in = true,
    .in_pytorch = true,
    .waits_for_vocabulary = true,
};

}  // namespace foretrain::schedule_detail
