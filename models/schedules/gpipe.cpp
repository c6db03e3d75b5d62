// SPDX-License-Identifier: Apache-2.0
// GPipe, arXiv 1811.06965.

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

/// The backward passes run in reverse order, as in the paper's figure 2c: what the last forward
/// pass left behind is needed first.
std::vector<Pass> gpipe_stage(const ScheduleShape& shape, int /*stage*/) {
  PassList list(shape.microbatches, 2 * shape.microbatches);
  for (int micro = 0; micro < shape.microbatches; ++micro) list.forward();
  for (int micro = shape.microbatches - 1; micro >= 0; --micro)
    list.put({PassKind::backward, 0, micro});
  return list.take();
}

}  // namespace

constinit const ScheduleTraits gpipe_traits{
    .order = stage_by_stage<gpipe_stage>,
    .citation = "arXiv 1811.06965 figure 2c",
    .formula = StepFormula::flow_shops,
    .in_pytorch = true,
};

}  // namespace foretrain::schedule_detail
