// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "models/schedules/registry.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain::schedule_detail {

/// Writes the passes of one stage down in order. Passes of one kind and chunk take the
/// micro-batches from 0 upwards; those from `limit` on are counted but left out, so that an order
/// made for a full pipeline stays legal when there are fewer micro-batches: nothing ever waits for
/// what is left out.
class PassList {
 public:
  PassList(int limit, int passes) : limit_(limit) {
    passes_.reserve(static_cast<std::size_t>(passes));
  }

  void forward(int chunk = 0) { add(PassKind::forward, chunk, forwards_); }
  void backward(int chunk = 0) { add(PassKind::backward, chunk, backwards_); }
  void input_gradient(int chunk = 0) { add(PassKind::input_gradient, chunk, backwards_); }
  void weight_gradient(int chunk = 0) { add(PassKind::weight_gradient, chunk, weights_); }
  /// The split backward passes that are left of chunk 0: halves in pairs, then weight gradients.
  void drain(int microbatches) {
    while (backwards() < microbatches) {
      input_gradient();
      weight_gradient();
    }
    while (weights() < microbatches) weight_gradient();
  }
  /// For orders that do not take the micro-batches from 0 upwards.
  void put(const Pass& pass) {
    if (pass.micro < limit_) passes_.push_back(pass);
  }

  [[nodiscard]] int forwards(int chunk = 0) const { return forwards_[index(chunk)]; }
  [[nodiscard]] int backwards(int chunk = 0) const { return backwards_[index(chunk)]; }
  [[nodiscard]] int weights(int chunk = 0) const { return weights_[index(chunk)]; }

  [[nodiscard]] std::vector<Pass> take() { return std::move(passes_); }

 private:
  using Counts = std::array<int, 2>;
  static std::size_t index(int chunk) { return static_cast<std::size_t>(chunk); }
  void add(PassKind kind, int chunk, Counts& counts) { put({kind, chunk, counts[index(chunk)]++}); }

  int limit_;
  std::vector<Pass> passes_;
  Counts forwards_{};
  Counts backwards_{};
  Counts weights_{};
};

/// The traits of every schedule, each defined in the file of its name.
#define FORETRAIN_DECLARE(identifier, name) extern const ScheduleTraits identifier##_traits;
FORETRAIN_SCHEDULES(FORETRAIN_DECLARE)
#undef FORETRAIN_DECLARE

/// The orders of all stages where each follows from its own stage alone.
template <std::vector<Pass> (*stage_order)(const ScheduleShape&, int)>
std::vector<std::vector<Pass>> stage_by_stage(const ScheduleShape& shape) {
  std::vector<std::vector<Pass>> stages;
  stages.reserve(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) stages.push_back(stage_order(shape, stage));
  return stages;
}

}  // namespace foretrain::schedule_detail
