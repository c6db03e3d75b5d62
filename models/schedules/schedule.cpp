// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/schedule.hpp"

#include <algorithm>
#include <cstddef>

#include "models/base/require.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain {
namespace {

/// Micro-batches after which the order of passes repeats.
int period(const ScheduleShape& shape) {
  const ScheduleTraits& traits = traits_of(shape.kind);
  return traits.period ? traits.period(shape) : shape.stages;
}

}  // namespace

ScheduleShape schedule_shape(const Job& job) {
  const Parallel& plan = job.parallel;
  ScheduleShape shape;
  shape.kind = plan.schedule;
  shape.stages = plan.pipeline;
  shape.microbatches = job.microbatches();
  shape.group = plan.microbatch_group > 0 ? plan.microbatch_group : plan.pipeline;
  shape.chunks = plan.virtual_stages;
  if (plan.pipeline == 1) {  // nobody to wait for: every schedule runs forward, backward, forward
    shape.kind = default_schedule;
    return shape;
  }
  const int chunks = traits_of(plan.schedule).chunks;
  if (chunks > 1) shape.chunks = chunks;
  return shape;
}

bool is_legal(const ScheduleShape& shape) {
  if (shape.stages < 1 || shape.chunks < 1 || shape.microbatches < 1 || shape.group < 1)
    return false;
  const ScheduleTraits& traits = traits_of(shape.kind);
  if (traits.chunks != chunks_chosen && shape.chunks != traits.chunks) return false;
  return !traits.legal || traits.legal(shape);
}

int positions(const ScheduleShape& shape) {
  return traits_of(shape.kind).placement == Placement::mirrored ? shape.stages
                                                                : shape.stages * shape.chunks;
}

int position_of(const ScheduleShape& shape, PipelinePlace place) {
  const Placement placement = traits_of(shape.kind).placement;
  if (placement == Placement::rounds || place.chunk == 0)
    return place.chunk * shape.stages + place.stage;
  return positions(shape) - 1 - place.stage;
}

PipelinePlace place_at(const ScheduleShape& shape, int position, int micro) {
  const Placement placement = traits_of(shape.kind).placement;
  if (placement == Placement::mirrored)
    return micro < shape.microbatches / 2 ? PipelinePlace{position, 0}
                                          : PipelinePlace{shape.stages - 1 - position, 1};
  const PipelinePlace place{position % shape.stages, position / shape.stages};
  if (placement == Placement::folded && place.chunk == 1)
    return {shape.stages - 1 - place.stage, 1};
  return place;
}

bool Schedule::splits_backward() const {
  const auto splits = [](const std::vector<Pass>& passes) {
    return std::ranges::any_of(
        passes, [](const Pass& pass) { return pass.kind == PassKind::weight_gradient; });
  };
  return std::ranges::any_of(stages, splits);
}

Schedule make_schedule(const ScheduleShape& shape) {
  FORETRAIN_REQUIRE(is_legal(shape));
  return {shape, traits_of(shape.kind).order(shape)};
}

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
