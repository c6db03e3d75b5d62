// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/schedule.hpp"

#include <algorithm>
#include <cstddef>

#include "models/base/require.hpp"
#include "models/schedules/internal/pass_list.hpp"

namespace foretrain {
namespace {

using schedule_detail::PassList;

std::vector<Pass> naive_stage(const ScheduleShape& shape, int /*stage*/) {
  PassList list(shape.microbatches, 2 * shape.microbatches);
  for (int micro = 0; micro < shape.microbatches; ++micro) {
    list.forward();
    list.backward();
  }
  return list.take();
}

/// The backward passes run in reverse order, as in the paper's figure 2c: what the last forward
/// pass left behind is needed first.
std::vector<Pass> gpipe_stage(const ScheduleShape& shape, int /*stage*/) {
  PassList list(shape.microbatches, 2 * shape.microbatches);
  for (int micro = 0; micro < shape.microbatches; ++micro) list.forward();
  for (int micro = shape.microbatches - 1; micro >= 0; --micro)
    list.put({PassKind::backward, 0, micro});
  return list.take();
}

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

/// Walks the passes of one direction under interleaving: a group of micro-batches through the first
/// chunk, then through the second, and so on; then the next group. The last group may be smaller.
class InterleavedOrder {
 public:
  explicit InterleavedOrder(const ScheduleShape& shape) : shape_(shape) {}

  /// Backward passes take the chunks the other way round.
  Pass next(PassKind kind) {
    const int chunk = kind == PassKind::forward ? chunk_ : shape_.chunks - 1 - chunk_;
    const Pass pass{kind, chunk, group_start_ + in_group_};
    const int group = std::min(shape_.group, shape_.microbatches - group_start_);
    if (++in_group_ == group) {
      in_group_ = 0;
      if (++chunk_ == shape_.chunks) {
        chunk_ = 0;
        group_start_ += group;
      }
    }
    return pass;
  }

 private:
  ScheduleShape shape_;
  int group_start_ = 0;
  int chunk_ = 0;
  int in_group_ = 0;
};

std::vector<Pass> interleaved_stage(const ScheduleShape& shape, int stage) {
  const int passes = shape.microbatches * shape.chunks;
  PassList list(shape.microbatches, 2 * passes);
  InterleavedOrder forwards(shape);
  InterleavedOrder backwards(shape);
  const int warm_up =
      std::min(passes, 2 * (shape.stages - 1 - stage) + (shape.chunks - 1) * shape.group);
  for (int i = 0; i < warm_up; ++i) list.put(forwards.next(PassKind::forward));
  for (int i = warm_up; i < passes; ++i) {
    list.put(forwards.next(PassKind::forward));
    list.put(backwards.next(PassKind::backward));
  }
  for (int i = 0; i < warm_up; ++i) list.put(backwards.next(PassKind::backward));
  return list.take();
}

using StageOrder = std::vector<Pass> (*)(const ScheduleShape& shape, int stage);

StageOrder stage_order(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::naive:
      return naive_stage;
    case ScheduleKind::gpipe:
      return gpipe_stage;
    case ScheduleKind::one_f_one_b:
      return one_f_one_b_stage;
    case ScheduleKind::interleaved:
      return interleaved_stage;
    case ScheduleKind::zb_h1:
      return schedule_detail::zb_h1_stage;
    case ScheduleKind::zb_2p:
      return schedule_detail::zb_2p_stage;
    case ScheduleKind::zb_v:
      return schedule_detail::zb_v_stage;
    case ScheduleKind::dualpipe:
      return schedule_detail::dualpipe_stage;
  }
  return nullptr;
}

/// With groups smaller than the pipeline a stage would wait in its warm-up for a pass that the last
/// stage can only run later; Megatron-Core refuses them, and a smaller last group, too.
bool groups_are_legal(const ScheduleShape& shape) {
  if (shape.microbatches <= shape.group) return true;
  const int last_group = shape.microbatches % shape.group;
  return shape.group >= shape.stages && (last_group == 0 || last_group >= shape.stages);
}

bool is_even(int number) { return number % 2 == 0; }

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
    shape.kind = ScheduleKind::one_f_one_b;
    return shape;
  }
  if (plan.schedule == ScheduleKind::zb_v || plan.schedule == ScheduleKind::dualpipe)
    shape.chunks = 2;
  return shape;
}

bool is_legal(const ScheduleShape& shape) {
  if (shape.stages < 1 || shape.chunks < 1 || shape.microbatches < 1 || shape.group < 1)
    return false;
  switch (shape.kind) {
    case ScheduleKind::interleaved:
      return groups_are_legal(shape);
    case ScheduleKind::zb_v:
      return shape.chunks == 2;
    case ScheduleKind::dualpipe:
      return shape.chunks == 2 && is_even(shape.stages) && is_even(shape.microbatches);
    default:
      return shape.chunks == 1;
  }
}

int positions(const ScheduleShape& shape) {
  return shape.kind == ScheduleKind::dualpipe ? shape.stages : shape.stages * shape.chunks;
}

int position_of(const ScheduleShape& shape, PipelinePlace place) {
  const bool returns = place.chunk == 1;
  if (shape.kind == ScheduleKind::zb_v)
    return returns ? 2 * shape.stages - 1 - place.stage : place.stage;
  if (shape.kind == ScheduleKind::dualpipe)
    return returns ? shape.stages - 1 - place.stage : place.stage;
  return place.chunk * shape.stages + place.stage;
}

PipelinePlace place_at(const ScheduleShape& shape, int position, int micro) {
  if (shape.kind == ScheduleKind::dualpipe)
    return micro < shape.microbatches / 2 ? PipelinePlace{position, 0}
                                          : PipelinePlace{shape.stages - 1 - position, 1};
  const PipelinePlace place{position % shape.stages, position / shape.stages};
  if (shape.kind == ScheduleKind::zb_v && place.chunk == 1)
    return {shape.stages - 1 - place.stage, 1};
  return place;
}

bool Schedule::splits_backward() const {
  const auto splits = [](const std::vector<Pass>& passes) {
    return std::any_of(passes.begin(), passes.end(),
                       [](const Pass& pass) { return pass.kind == PassKind::weight_gradient; });
  };
  return std::any_of(stages.begin(), stages.end(), splits);
}

bool overlaps_next(const Schedule& schedule, int stage, std::size_t pass) {
  if (schedule.shape.kind != ScheduleKind::dualpipe) return false;
  const std::vector<Pass>& passes = schedule.stages[static_cast<std::size_t>(stage)];
  return pass + 1 < passes.size() && passes[pass].kind == PassKind::forward &&
         passes[pass + 1].kind == PassKind::backward &&
         passes[pass].chunk != passes[pass + 1].chunk;
}

Schedule make_schedule(const ScheduleShape& shape) {
  FORETRAIN_REQUIRE(is_legal(shape));
  Schedule schedule;
  schedule.shape = shape;
  schedule.stages.reserve(static_cast<std::size_t>(shape.stages));
  const StageOrder order = stage_order(shape.kind);
  for (int stage = 0; stage < shape.stages; ++stage) schedule.stages.push_back(order(shape, stage));
  return schedule;
}

}  // namespace foretrain
