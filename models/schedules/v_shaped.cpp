// SPDX-License-Identifier: Apache-2.0
#include "models/schedules/internal/v_shaped.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"

namespace foretrain::schedule_detail {
namespace {

constexpr int streams = 4;  ///< forward of chunk 0 and 1, input gradient of chunk 1 and 0

bool is_forward(int stream) { return stream < 2; }
int chunk_of(int stream) { return is_forward(stream) ? stream : streams - 1 - stream; }

/// A pass of the repeated blocks.
struct Planned {
  int time = 0;
  int stream = 0;
  int micro = 0;
  bool done = false;
};

struct VStage {
  std::vector<Planned> plan;        ///< by time
  std::size_t first = 0;            ///< that is not done
  std::array<int, streams> done{};  ///< micro-batches that have taken each pass
  std::array<int, streams> seen{};  ///< of them, those that other stages know of: one unit ago
  std::deque<Pass> weights;         ///< gradients made possible so far
  int alive = 0;                    ///< chunk activations
};

class Squeeze {
 public:
  Squeeze(const ScheduleShape& shape, VBlock (*block)(int, int), int alive)
      : shape_(shape),
        limit_(alive),
        first_back_(block(shape.stages, 0).back()),
        last_start_(std::max(first_back_, v_interval * (shape.microbatches - 1))),
        stages_(index(shape.stages)),
        order_(stages_.size()) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      std::vector<Planned>& plan = stages_[index(stage)].plan;
      const VBlock times = block(shape.stages, stage);
      for (int micro = 0; micro < shape.microbatches; ++micro)
        for (int stream = 0; stream < streams; ++stream)
          plan.push_back({times[index(stream)] + v_interval * micro, stream, micro, false});
      std::ranges::sort(plan, [](const Planned& a, const Planned& b) { return a.time < b.time; });
      order_[index(stage)].reserve(6 * index(shape.microbatches));
    }
  }

  std::vector<std::vector<Pass>> run() {
    const std::size_t all = 6 * index(shape_.microbatches) * stages_.size();
    const int longest = 2 * v_interval * (shape_.microbatches + 2 * shape_.stages + 4);
    for (std::size_t done = 0; done < all; ++now_) {
      for (int stage = 0; stage < shape_.stages; ++stage) done += act(stage) ? 1U : 0U;
      FORETRAIN_REQUIRE(now_ < longest);
      for (VStage& stage : stages_) stage.seen = stage.done;
    }
    return std::move(order_);
  }

 private:
  /// Whether the input of the next pass of a stream has arrived.
  [[nodiscard]] bool ready(int stage, int stream) const {
    const int next = stages_[index(stage)].done[index(stream)];
    const bool down = stream % 2 == 0;  // to the last stage, or back to the first
    const int end = down ? 0 : shape_.stages - 1;
    if (stage != end)
      return stages_[index(down ? stage - 1 : stage + 1)].seen[index(stream)] > next;
    return stream == 0 || stages_[index(stage)].seen[index(stream - 1)] > next;
  }

  /// In the steady state passes keep their times, so that their order is the block's; those of the
  /// warm-up and the cool-down move up as far as they can.
  [[nodiscard]] bool timely(const Planned& pass) const {
    return pass.time < first_back_ || now_ >= std::min(pass.time, last_start_);
  }

  /// The first pass of the plan that may run now, or null. What stands before a forward pass must
  /// find room after it, were weight gradients made as soon as they can be.
  [[nodiscard]] Planned* choose(int stage) {
    VStage& state = stages_[index(stage)];
    int held = state.alive - static_cast<int>(state.weights.size());
    int most = held;
    std::array<bool, streams> met{};
    for (std::size_t i = state.first; i < state.plan.size(); ++i) {
      Planned& pass = state.plan[i];
      if (pass.done) continue;
      const bool room = !is_forward(pass.stream) || most < limit_;
      if (!met[index(pass.stream)] && room && timely(pass) && ready(stage, pass.stream))
        return &pass;
      met[index(pass.stream)] = true;
      held += is_forward(pass.stream) ? 1 : -1;
      most = std::max(most, held);
      if (met[2] && met[3] && (most >= limit_ || (met[0] && met[1]))) break;
    }
    return nullptr;
  }

  bool act(int stage) {
    VStage& state = stages_[index(stage)];
    Planned* pass = choose(stage);
    const bool full = pass && is_forward(pass->stream) && state.alive >= limit_;
    if (pass && !full) {
      take(stage, *pass);
      return true;
    }
    if (state.weights.empty()) return false;
    order_[index(stage)].push_back(state.weights.front());
    state.weights.pop_front();
    --state.alive;
    return true;
  }

  void take(int stage, Planned& pass) {
    VStage& state = stages_[index(stage)];
    const int chunk = chunk_of(pass.stream);
    pass.done = true;
    ++state.done[index(pass.stream)];
    while (state.first < state.plan.size() && state.plan[state.first].done) ++state.first;
    if (is_forward(pass.stream)) {
      ++state.alive;
      order_[index(stage)].push_back({PassKind::forward, chunk, pass.micro});
      return;
    }
    order_[index(stage)].push_back({PassKind::input_gradient, chunk, pass.micro});
    state.weights.push_back({PassKind::weight_gradient, chunk, pass.micro});
  }

  ScheduleShape shape_;
  int limit_;
  int first_back_;  ///< planned: the first micro-batch comes back to the first stage
  int last_start_;  ///< planned: the last one leaves it
  int now_ = 0;
  std::vector<VStage> stages_;
  std::vector<std::vector<Pass>> order_;
};

}  // namespace

std::vector<std::vector<Pass>> v_shaped_order(const ScheduleShape& shape,
                                              VBlock (*block)(int stages, int stage), int alive) {
  return Squeeze(shape, block, alive).run();
}

}  // namespace foretrain::schedule_detail
