// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/schedule_fold.hpp"

#include <algorithm>

#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

/// Micro-batches after which the order of passes repeats.
int period(const ScheduleShape& shape) {
  const ScheduleTraits& traits = traits_of(shape.kind);
  return traits.period ? traits.period(shape) : shape.stages;
}

}  // namespace

std::optional<ScheduleFold> fold_of(const ScheduleShape& shape) {
  constexpr int turns = 4;  // periods over which the pace is measured: it may alternate
  const int repeat = period(shape);
  const int few = std::max(48, 4 * std::max(shape.stages, repeat));
  const int skipped = (shape.microbatches - few) / repeat - turns;
  if (skipped <= 0) return std::nullopt;
  ScheduleFold fold{shape, shape, static_cast<double>(skipped) / turns};
  fold.longer.microbatches -= skipped * repeat;
  fold.shorter.microbatches = fold.longer.microbatches - turns * repeat;
  return fold;
}

}  // namespace foretrain
