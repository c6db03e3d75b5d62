// SPDX-License-Identifier: Apache-2.0
// 1F1B in several chunks per stage, taken in turns: arXiv 2104.04473 and Megatron-LM.
#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

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

/// With groups smaller than the pipeline a stage would wait in its warm-up for a pass that the last
/// stage can only run later; Megatron-Core refuses them, and a smaller last group, too.
bool groups_are_legal(const ScheduleShape& shape) {
  if (shape.microbatches <= shape.group) return true;
  const int last_group = shape.microbatches % shape.group;
  return shape.group >= shape.stages && (last_group == 0 || last_group >= shape.stages);
}

/// As a plan asks for it, with groups given or one micro-batch per stage.
std::optional<Infeasible> interleaved_fault(const Job& job) {
  const int stages = job.parallel.pipeline;
  const int microbatches = job.microbatches();
  const int group = job.parallel.microbatch_group;
  if (group > 0 && microbatches > group && !is_legal(schedule_shape(job)))
    return Infeasible{
        "interleaved-group", "parallel.microbatch_group",
        fmt::format("groups of {} micro-batches on {} stages leave a group that is smaller than "
                    "the pipeline, of {} micro-batches",
                    group, stages, microbatches),
        "a multiple of the stages, or a group whose rest is no smaller than the pipeline"};
  if (group > 0 || microbatches % stages == 0) return std::nullopt;
  const auto once = std::int64_t{job.training.micro_batch} * job.parallel.data;
  return Infeasible{
      "interleaved-microbatches", "training.global_batch",
      fmt::format("interleaving runs micro-batches in groups of {} (one per stage), but a "
                  "replica has {}",
                  stages, microbatches),
      fmt::format("a multiple of {} sequences", once * stages)};
}

int interleaved_period(const ScheduleShape& shape) { return shape.group; }

}  // namespace

constinit const ScheduleTraits interleaved_traits{
    .order = stage_by_stage<interleaved_stage>,
    .citation = "arXiv 2104.04473, Megatron-Core schedules.py",
    .aliases = "1f1b-i",
    .chunks = chunks_chosen,
    .legal = groups_are_legal,
    .fault = interleaved_fault,
    .period = interleaved_period,
    .in_one_chunk = ScheduleKind::one_f_one_b,
    .common = true,
    .in_pytorch = true,
};

}  // namespace foretrain::schedule_detail
