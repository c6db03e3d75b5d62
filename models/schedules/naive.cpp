// SPDX-License-Identifier: Apache-2.0
// One micro-batch at a time through the whole model and back.

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

std::vector<Pass> naive_stage(const ScheduleShape& shape, int /*stage*/) {
  PassList list(shape.microbatches, 2 * shape.microbatches);
  for (int micro = 0; micro < shape.microbatches; ++micro) {
    list.forward();
    list.backward();
  }
  return list.take();
}

}  // namespace

constinit const ScheduleTraits naive_traits{
    .order = stage_by_stage<naive_stage>,
    .formula = StepFormula::rounds,
};

}  // namespace foretrain::schedule_detail
