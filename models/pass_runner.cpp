// SPDX-License-Identifier: Apache-2.0
#include "models/pass_runner.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>

#include "models/require.hpp"

namespace foretrain {
namespace {

constexpr std::uint32_t nothing = UINT32_MAX;

/// A pass with what it waits for worked out: all that running it needs.
struct ReadyPass {
  std::uint32_t stage;
  std::uint32_t duration;   ///< chunk * 4 + kind
  std::uint32_t waits_for;  ///< index of an earlier pass at another place, or `nothing`
  bool hop;                 ///< its input comes from another stage
  bool sends;               ///< its result goes to another stage
};

struct ReadySchedule {
  ScheduleShape shape;
  std::vector<ReadyPass> passes;
};

/// Index of the latest pass seen, by direction, position and micro-batch.
class Arrivals {
 public:
  Arrivals(int positions, int microbatches)
      : micro_{static_cast<std::size_t>(microbatches)},
        seen_(2 * static_cast<std::size_t>(positions) * micro_, nothing) {}
  std::uint32_t& at(bool forward, int position, int micro) {
    const std::size_t row = 2 * static_cast<std::size_t>(position) + (forward ? 0 : 1);
    return seen_[row * micro_ + static_cast<std::size_t>(micro)];
  }

 private:
  std::size_t micro_;
  std::vector<std::uint32_t> seen_;
};

ReadySchedule prepare(const ScheduleShape& shape) {
  const std::vector<OrderedPass> order = execution_order(make_schedule(shape));
  const int last = positions(shape) - 1;
  Arrivals arrivals{positions(shape), shape.microbatches};
  ReadySchedule ready{shape, {}};
  ready.passes.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const auto& [pass, stage] = order[i];
    const PipelinePlace place{stage, pass.chunk};
    const int position = position_of(shape, place);
    const bool forward = pass.kind == PassKind::forward;
    const int before = forward ? position - 1 : position + 1;
    const auto duration = static_cast<std::uint32_t>(4 * (stage * shape.chunks + pass.chunk) +
                                                     static_cast<int>(pass.kind));
    ReadyPass entry{static_cast<std::uint32_t>(stage), duration, nothing, false, false};
    if (pass.kind != PassKind::weight_gradient) {
      if (before >= 0 && before <= last) {
        entry.waits_for = arrivals.at(forward, before, pass.micro);
        entry.hop = place_at(shape, before, pass.micro).stage != stage;
      }
      const int after = forward ? position + 1 : position - 1;
      entry.sends =
          after >= 0 && after <= last && place_at(shape, after, pass.micro).stage != stage;
      arrivals.at(forward, position, pass.micro) = i;
    }
    ready.passes.push_back(entry);
  }
  return ready;
}

/// Working out an order costs more than running it: searches ask for the same few again and again.
const ReadySchedule& ready_schedule(const ScheduleShape& shape) {
  constexpr std::size_t most = 64;
  thread_local std::vector<std::unique_ptr<ReadySchedule>> kept;
  const auto found = std::find_if(kept.begin(), kept.end(),
                                  [&](const auto& entry) { return entry->shape == shape; });
  if (found != kept.end()) return **found;
  if (kept.size() == most) kept.erase(kept.begin());
  kept.push_back(std::make_unique<ReadySchedule>(prepare(shape)));
  return *kept.back();
}

/// Runs every pass of `ready`; the stage's own last pass bears the slow-down by gradient traffic. A
/// stage sends one thing at a time.
PassEnds run(const ReadySchedule& ready, const StepCosts& costs,
             const std::vector<Seconds>& durations) {
  const Seconds transfer = costs.transfer_blocks ? Seconds{} : costs.transfer;
  PassEnds free(costs.stages.size());
  for (std::size_t s = 0; s < free.size(); ++s)
    free[s] = costs.stages[s].exposed_weights() + costs.stages[s].weights.slowed;
  std::vector<Seconds> link(costs.stages.size());
  thread_local std::vector<Seconds> delivered;  // result of a pass: where it was made, or arrived
  delivered.resize(ready.passes.size());
  for (std::size_t i = 0; i < ready.passes.size(); ++i) {
    const ReadyPass& pass = ready.passes[i];
    Seconds& stage = free[pass.stage];
    if (pass.hop) stage = max(stage, delivered[pass.waits_for]);
    stage += durations[pass.duration];
    if (pass.sends) delivered[i] = link[pass.stage] = max(stage, link[pass.stage]) + transfer;
  }
  for (std::size_t s = 0; s < free.size(); ++s) free[s] += costs.stages[s].gradients.slowed;
  return free;
}

/// Indexed by ReadyPass::duration.
std::vector<Seconds> flat(const std::vector<PassSeconds>& chunks) {
  std::vector<Seconds> table;
  table.reserve(4 * chunks.size());
  for (const PassSeconds& chunk : chunks)
    for (const PassKind kind : {PassKind::forward, PassKind::backward, PassKind::input_gradient,
                                PassKind::weight_gradient})
      table.push_back(chunk.of(kind));
  return table;
}

/// Micro-batches after which the order of passes repeats.
int period(const ScheduleShape& shape) {
  switch (shape.kind) {
    case ScheduleKind::interleaved:
      return shape.group;
    case ScheduleKind::dualpipe:
      return 2 * shape.stages;
    default:
      return shape.stages;
  }
}

}  // namespace

Seconds PassSeconds::of(PassKind kind) const {
  switch (kind) {
    case PassKind::forward:
      return forward;
    case PassKind::backward:
      return backward;
    case PassKind::input_gradient:
      return input_gradient;
    case PassKind::weight_gradient:
      return weight_gradient;
  }
  return Seconds{};
}

std::vector<PassSeconds> pass_seconds(const StepCosts& costs) {
  std::vector<PassSeconds> result(costs.chunks.size());
  const int last = positions(costs.shape) - 1;
  for (int stage = 0; stage < costs.shape.stages; ++stage) {
    for (int chunk = 0; chunk < costs.shape.chunks; ++chunk) {
      const PieceTimes& times = costs.at({stage, chunk});
      PassSeconds& pass = result[costs.index({stage, chunk})];
      pass.forward = times.forward.total();
      pass.input_gradient = times.input_gradient.total();
      pass.weight_gradient = times.weight_gradient.total();
      if (costs.transfer_blocks) {
        const int position = position_of(costs.shape, {stage, chunk});
        if (position < last) pass.forward += costs.transfer;
        if (position > 0) pass.input_gradient += costs.transfer;
      }
      pass.backward = pass.input_gradient + pass.weight_gradient;
    }
  }
  return result;
}

PassEnds run_schedule(const StepCosts& costs) {
  const std::vector<Seconds> durations = flat(pass_seconds(costs));
  const ScheduleShape& shape = costs.shape;
  const int repeat = period(shape);
  const int few = 4 * std::max(shape.stages, repeat);
  const int skipped = std::max(0, (shape.microbatches - few) / repeat - 1);
  if (skipped == 0) return run(ready_schedule(shape), costs, durations);

  ScheduleShape shorter = shape;
  shorter.microbatches -= skipped * repeat;
  PassEnds ends = run(ready_schedule(shorter), costs, durations);
  shorter.microbatches -= repeat;
  const PassEnds before = run(ready_schedule(shorter), costs, durations);
  for (std::size_t s = 0; s < ends.size(); ++s)
    ends[s] += static_cast<double>(skipped) * (ends[s] - before[s]);
  return ends;
}

}  // namespace foretrain
