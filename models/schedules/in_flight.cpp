// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/in_flight.hpp"

#include <algorithm>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// Of the first `passes` forward passes of a stage under interleaving, those of one chunk: the
/// stage runs `group` micro-batches through chunk 0, then through chunk 1, and so on; the last
/// group may be smaller (Megatron-Core, pipeline_parallel/schedules.py, get_schedule_table).
int interleaved_passes_of(const InFlightShape& shape, int passes, int chunk) {
  int alive = 0;
  for (int done = 0; done < shape.microbatches && passes > 0; done += shape.group) {
    const int group = std::min(shape.group, shape.microbatches - done);
    alive += std::clamp(passes - chunk * group, 0, group);
    passes -= group * shape.virtual_stages;
  }
  return alive;
}

int interleaved_passes(const InFlightShape& shape, int stage, int chunk) {
  const int all = shape.microbatches * shape.virtual_stages;
  const int warm_up = 2 * (shape.stages - 1 - stage) + (shape.virtual_stages - 1) * shape.group + 1;
  return interleaved_passes_of(shape, std::min(all, warm_up), chunk);
}

}  // namespace

namespace {

/// What splitting the vocabulary delays: 1F1B over 8 stages holds 2, 3 or 5 micro-batches more
/// (artifact of arXiv 2411.05288; the paper states 1.5 times the activations for interlacing).
int delayed_microbatches(const Parallel& parallel) {
  switch (parallel.vocabulary) {
    case VocabularyKind::ends:
      return 0;
    case VocabularyKind::split:
      return 2;
    case VocabularyKind::split_two_syncs:
      return 3;
    case VocabularyKind::interlaced:
      return parallel.pipeline / 2 + 1;
  }
  return 0;
}

}  // namespace

InFlightShape in_flight_shape(const Job& job) {
  const Parallel& parallel = job.parallel;
  return {parallel.schedule,
          parallel.pipeline,
          parallel.virtual_stages,
          job.microbatches(),
          parallel.microbatch_group > 0 ? parallel.microbatch_group : parallel.pipeline,
          parallel.pipeline > 1 ? delayed_microbatches(parallel) : 0};
}

int live_passes(const InFlightShape& shape, int stage, int chunk) {
  FORETRAIN_REQUIRE(shape.stages >= 1 && shape.microbatches >= 1 && shape.group >= 1);
  FORETRAIN_REQUIRE(0 <= stage && stage < shape.stages);
  FORETRAIN_REQUIRE(0 <= chunk && chunk < shape.virtual_stages);
  const auto clipped = [&](int passes) { return std::min(passes, shape.microbatches); };
  switch (shape.schedule) {
    case ScheduleKind::naive:
      return 1;
    case ScheduleKind::gpipe:
      return shape.microbatches;
    case ScheduleKind::interleaved:
      return interleaved_passes(shape, stage, chunk);
    case ScheduleKind::zb_2p:
      // arXiv 2401.10241 section 3: twice the peak of 1F1B's first stage, alike on every stage.
      return clipped(2 * shape.stages - 1);
    case ScheduleKind::zb_v:
      // arXiv 2401.10241 section 6: each device holds p micro-batches of its two chunks together.
      return clipped(shape.stages);
    case ScheduleKind::dualpipe:
      // arXiv 2412.19437 table 2: p + 1 micro-batches over both directions.
      return clipped(shape.stages + 1);
    case ScheduleKind::one_f_one_b:
    case ScheduleKind::zb_h1:
      // With chunks, 1F1B is run interleaved (SC21, arXiv 2104.04473 section 2.2).
      return shape.virtual_stages > 1 ? interleaved_passes(shape, stage, chunk)
                                      : clipped(shape.stages - stage + shape.extra);
  }
  return shape.microbatches;
}

}  // namespace foretrain
