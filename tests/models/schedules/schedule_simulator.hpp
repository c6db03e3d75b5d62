// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/base/require.hpp"
#include "models/schedules/registry.hpp"
#include "models/schedules/schedule.hpp"

namespace foretrain {

/// Whether DualPipe runs this forward pass together with the backward pass after it: both begin
/// when both of their inputs are there, and the traffic of one hides behind the products of the
/// other (arXiv 2412.19437 section 3.2.1). The order alone lets the second pass of a pair begin
/// later.
inline bool overlaps_next(const Schedule& schedule, int stage, std::size_t pass) {
  if (!traits_of(schedule.shape.kind).overlaps) return false;
  const std::vector<Pass>& passes = schedule.stages[static_cast<std::size_t>(stage)];
  return pass + 1 < passes.size() && passes[pass].kind == PassKind::forward &&
         passes[pass + 1].kind == PassKind::backward &&
         passes[pass].chunk != passes[pass + 1].chunk;
}

/// Times of the passes through one chunk.
struct PassTimes {
  double forward = 1;
  double input_gradient = 1;
  double weight_gradient = 1;
  double transfer = 0;  ///< between neighbouring stages

  [[nodiscard]] double of(PassKind kind) const {
    switch (kind) {
      case PassKind::forward:
        return forward;
      case PassKind::backward:
        return input_gradient + weight_gradient;
      case PassKind::input_gradient:
        return input_gradient;
      case PassKind::weight_gradient:
        return weight_gradient;
    }
    return 0;
  }
  [[nodiscard]] double all() const { return forward + input_gradient + weight_gradient; }
};

struct SimulatedSchedule {
  double makespan = 0;
  double longest_stage = 0;  ///< from the first pass of a stage to the end of its last
};

/// Runs a schedule straight from the definitions: it shares nothing with
/// execution_order but the positions. `pairs` runs the forward and backward passes that DualPipe
/// overlaps as one piece of work: both wait for both inputs, both end together.
class ScheduleSimulator {
 public:
  /// The same times everywhere.
  ScheduleSimulator(const Schedule& schedule, const PassTimes& times, bool pairs = false)
      : schedule_(schedule),
        times_(schedule.stages.size() * static_cast<std::size_t>(schedule.shape.chunks), times),
        pairs_(pairs) {}
  /// Times by stage * chunks + chunk.
  ScheduleSimulator(const Schedule& schedule, std::vector<PassTimes> times)
      : schedule_(schedule), times_(std::move(times)), pairs_(false) {}

  SimulatedSchedule run() {
    const auto stages = schedule_.stages.size();
    std::vector<std::size_t> next(stages, 0);
    std::vector<double> clock(stages, 0.0);
    std::vector<double> first(stages, -1.0);
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t stage = 0; stage < stages; ++stage)
        while (const std::size_t ran =
                   step(static_cast<int>(stage), next[stage], clock[stage], first[stage])) {
          next[stage] += ran;
          moved = true;
        }
    }
    SimulatedSchedule result;
    for (std::size_t stage = 0; stage < stages; ++stage) {
      FORETRAIN_REQUIRE(next[stage] == schedule_.stages[stage].size());
      result.makespan = std::max(result.makespan, clock[stage]);
      result.longest_stage = std::max(result.longest_stage, clock[stage] - first[stage]);
    }
    return result;
  }

 private:
  using Key = std::tuple<bool, int, int>;  ///< forward, position, micro-batch

  /// Time at which what the pass waits for is there; negative while it is not.
  [[nodiscard]] double available(const Pass& pass, int stage) const {
    const int position = position_of(schedule_.shape, {stage, pass.chunk});
    const auto end_of = [&](bool forward, int at) {
      const auto found = end_.find({forward, at, pass.micro});
      if (found == end_.end()) return -1.0;
      const bool stays = place_at(schedule_.shape, at, pass.micro).stage == stage;
      return found->second + (stays ? 0.0 : times_.front().transfer);
    };
    switch (pass.kind) {
      case PassKind::forward:
        return position == 0 ? 0.0 : end_of(true, position - 1);
      case PassKind::weight_gradient:
        return end_of(false, position);
      default:
        return position + 1 == positions(schedule_.shape) ? end_of(true, position)
                                                          : end_of(false, position + 1);
    }
  }

  void finish(const Pass& pass, int stage, double time) {
    if (pass.kind == PassKind::weight_gradient) return;
    const int position = position_of(schedule_.shape, {stage, pass.chunk});
    end_[{pass.kind == PassKind::forward, position, pass.micro}] = time;
  }

  /// Passes that ran: 0, 1 or a pair.
  std::size_t step(int stage, std::size_t at, double& clock, double& first) {
    const std::vector<Pass>& passes = schedule_.stages[static_cast<std::size_t>(stage)];
    if (at >= passes.size()) return 0;
    const std::size_t count = pairs_ && overlaps_next(schedule_, stage, at) ? 2 : 1;
    double start = clock;
    double time = 0;
    for (std::size_t i = at; i < at + count; ++i) {
      const double there = available(passes[i], stage);
      if (there < 0) return 0;
      start = std::max(start, there);
      time += times_[static_cast<std::size_t>(stage) *
                         static_cast<std::size_t>(schedule_.shape.chunks) +
                     static_cast<std::size_t>(passes[i].chunk)]
                  .of(passes[i].kind);
    }
    if (first < 0) first = start;
    clock = start + time;
    for (std::size_t i = at; i < at + count; ++i) finish(passes[i], stage, clock);
    return count;
  }

  const Schedule& schedule_;
  std::vector<PassTimes> times_;
  bool pairs_;
  std::map<Key, double> end_;
};

inline SimulatedSchedule simulate_schedule(const Schedule& schedule, const PassTimes& times) {
  return ScheduleSimulator(schedule, times).run();
}

/// One stage as text: F, B, I, W (whole or split backward) and the micro-batch; small letters are
/// the second chunk.
inline std::string stage_text(const Schedule& schedule, int stage) {
  std::string text;
  for (const Pass& pass : schedule.stages[static_cast<std::size_t>(stage)]) {
    if (!text.empty()) text += ' ';
    text += (pass.chunk == 0 ? "FBIW" : "fbiw")[static_cast<std::size_t>(pass.kind)];
    text += std::to_string(pass.micro);
  }
  return text;
}

/// Shapes with what a kind prescribes filled in.
inline ScheduleShape shape_of(ScheduleKind kind, int stages, int microbatches, int chunks = 1) {
  const int own = traits_of(kind).chunks;
  return {kind, stages, own > 1 ? own : chunks, microbatches, stages};
}

}  // namespace foretrain
