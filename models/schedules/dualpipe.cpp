// SPDX-License-Identifier: Apache-2.0
// DualPipe, arXiv 2412.19437 figure 5, by the steps of its public implementation.
#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "models/schedules/internal/pass_list.hpp"

namespace foretrain::schedule_detail {
namespace {

/// One stage as its middle sees it: `near` micro-batches come from the end of the pipeline that the
/// stage is closer to, `far` ones from the other. The picture is the same from both ends.
class DualPipeStage {
 public:
  DualPipeStage(const ScheduleShape& shape, int stage)
      : half_(shape.microbatches / 2),
        // Each direction numbers its micro-batches from 0; `take` adds where the direction starts.
        list_(half_, 3 * shape.microbatches),
        near_(stage < shape.stages / 2 ? 0 : 1),
        far_(1 - near_),
        from_end_(std::min(stage, shape.stages - 1 - stage)),
        to_middle_(shape.stages / 2 - 1 - from_end_),
        // Fewer micro-batches than fill the pipeline: the order for a full one without the missing.
        rounds_(std::max(half_, shape.stages) - shape.stages + from_end_ + 1) {}

  std::vector<Pass> take() {
    warm_up();
    steady();
    cool_down();
    std::vector<Pass> passes = list_.take();
    for (Pass& pass : passes)
      if (pass.chunk == 1) pass.micro += half_;
    return passes;
  }

 private:
  void input_gradient(int chunk) {
    waiting_.push_back({PassKind::weight_gradient, chunk, list_.backwards(chunk)});
    list_.input_gradient(chunk);
  }
  /// Weight gradients leave in the order in which they came.
  void weight_gradient() { list_.put(waiting_[next_waiting_++]); }

  void warm_up() {
    for (int i = 0; i < 2 * to_middle_; ++i) list_.forward(near_);
    for (int i = 0; i <= from_end_; ++i) {
      list_.forward(near_);
      list_.forward(far_);
    }
    for (int i = 0; i < to_middle_; ++i) {
      input_gradient(far_);
      weight_gradient();
      list_.forward(far_);
    }
  }

  /// Forward passes of one direction run together with backward passes of the other.
  void steady() {
    for (int i = 0; i < rounds_; ++i) {
      list_.forward(near_);
      list_.backward(far_);
      list_.forward(far_);
      list_.backward(near_);
    }
    for (int i = 0; i < to_middle_; ++i) {
      list_.backward(far_);
      list_.forward(far_);
      list_.backward(near_);
    }
  }

  /// The later half of the remaining backward passes leaves its weight gradients for the end.
  void cool_down() {
    for (int i = 0; i < 2 * (from_end_ + 1); ++i) {
      const int chunk = i % 2 == 0 ? far_ : near_;
      if (i > from_end_)
        input_gradient(chunk);
      else
        list_.backward(chunk);
    }
    for (int i = 0; i < to_middle_; ++i) {
      weight_gradient();
      input_gradient(near_);
    }
    while (next_waiting_ < waiting_.size()) weight_gradient();
  }

  int half_;
  PassList list_;
  int near_;
  int far_;
  int from_end_;
  int to_middle_;
  int rounds_;
  std::vector<Pass> waiting_;
  std::size_t next_waiting_ = 0;
};

std::vector<Pass> dualpipe_stage(const ScheduleShape& shape, int stage) {
  return DualPipeStage(shape, stage).take();
}

bool both_even(const ScheduleShape& shape) {
  return shape.stages % 2 == 0 && shape.microbatches % 2 == 0;
}

std::optional<Infeasible> dualpipe_fault(const Job& job) {
  const int microbatches = job.microbatches();
  const int stages = job.parallel.pipeline;
  if (stages == 1 || (microbatches % 2 == 0 && stages % 2 == 0)) return std::nullopt;
  return Infeasible{"dualpipe-is-even", "parallel.pipeline",
                    fmt::format("dualpipe sends half of the micro-batches each way over an even "
                                "number of stages, but there are {} on {} stages",
                                microbatches, stages),
                    "an even number of both"};
}

int dualpipe_period(const ScheduleShape& shape) { return 2 * shape.stages; }

}  // namespace

constinit const ScheduleTraits dualpipe_traits{
    .order = stage_by_stage<dualpipe_stage>,
    .citation = "arXiv 2412.19437 figure 5, table 2",
    .chunks = 2,
    .placement = Placement::mirrored,
    .splits_backward = true,
    .overlaps = true,
    .legal = both_even,
    .fault = dualpipe_fault,
    .period = dualpipe_period,
};

}  // namespace foretrain::schedule_detail
