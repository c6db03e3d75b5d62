// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <utility>

#include "models/base/require.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain {
namespace {

/// Runs the passes of all stages as early as their order allows. A micro-batch goes up the
/// positions and down again, so how far it has come says which of its passes may run.
class Sweep {
 public:
  explicit Sweep(const Schedule& schedule)
      : schedule_(schedule),
        positions_(positions(schedule.shape)),
        forward_done_(static_cast<std::size_t>(schedule.shape.microbatches)),
        backward_done_(forward_done_.size()),
        next_pass_(schedule.stages.size()),
        queued_(schedule.stages.size(), true) {
    for (const auto& stage : schedule.stages) passes_ += stage.size();
    order_.reserve(passes_);
    // Each stage is in the queue once at most, so a ring of that size is enough.
    for (std::size_t stage = 0; stage < schedule.stages.size(); ++stage)
      queue_.push_back(static_cast<int>(stage));
    waiting_ = queue_.size();
  }

  std::vector<OrderedPass> run() {
    while (waiting_ > 0) run_stage(pop());
    FORETRAIN_REQUIRE(order_.size() == passes_);
    return std::move(order_);
  }

 private:
  static std::size_t index(int number) { return static_cast<std::size_t>(number); }

  [[nodiscard]] bool ready(const Pass& pass, int position) const {
    const int forward = forward_done_[index(pass.micro)];
    const int backward = backward_done_[index(pass.micro)];
    const int after = positions_ - 1 - position;
    switch (pass.kind) {
      case PassKind::forward:
        return forward == position;
      case PassKind::backward:
      case PassKind::input_gradient:
        return forward == positions_ && backward == after;
      case PassKind::weight_gradient:
        return backward > after;
    }
    return false;
  }

  /// Runs a stage until it has to wait for another one.
  void run_stage(int stage) {
    const std::vector<Pass>& passes = schedule_.stages[index(stage)];
    std::size_t& next = next_pass_[index(stage)];
    for (; next < passes.size(); ++next) {
      const Pass& pass = passes[next];
      const int position = position_of(schedule_.shape, {stage, pass.chunk});
      if (!ready(pass, position)) return;
      order_.push_back({pass, stage});
      advance(pass, position);
    }
  }

  void advance(const Pass& pass, int position) {
    if (pass.kind == PassKind::weight_gradient) return;
    const bool forward = pass.kind == PassKind::forward;
    ++(forward ? forward_done_ : backward_done_)[index(pass.micro)];
    const int following = forward ? position + 1 : position - 1;
    if (0 <= following && following < positions_)
      push(place_at(schedule_.shape, following, pass.micro).stage);
  }

  int pop() {
    const int stage = queue_[head_];
    head_ = head_ + 1 == queue_.size() ? 0 : head_ + 1;
    --waiting_;
    queued_[index(stage)] = false;
    return stage;
  }
  void push(int stage) {
    if (queued_[index(stage)]) return;
    queued_[index(stage)] = true;
    queue_[(head_ + waiting_++) % queue_.size()] = stage;
  }

  const Schedule& schedule_;
  int positions_;
  std::size_t passes_ = 0;
  std::vector<int> forward_done_;  ///< positions that each micro-batch has passed
  std::vector<int> backward_done_;
  std::vector<std::size_t> next_pass_;
  std::vector<OrderedPass> order_;
  std::vector<int> queue_;  ///< stages that may be able to run, in a ring
  std::vector<char> queued_;
  std::size_t head_ = 0;
  std::size_t waiting_ = 0;
};

}  // namespace

std::vector<OrderedPass> execution_order(const Schedule& schedule) {
  FORETRAIN_REQUIRE(is_legal(schedule.shape));
  FORETRAIN_REQUIRE(schedule.stages.size() == static_cast<std::size_t>(schedule.shape.stages));
  return Sweep(schedule).run();
}

}  // namespace foretrain
