// SPDX-License-Identifier: Apache-2.0
#include "models/step/pass_runner.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "models/schedules/schedule_fold.hpp"
#include "models/step/step_schedule.hpp"

namespace foretrain {
namespace {

constexpr std::uint32_t nothing = UINT32_MAX;

/// A pass with what it waits for worked out: all that running it needs.
struct ReadyPass {
  std::uint32_t stage;
  std::uint32_t duration;   ///< chunk * 4 + kind
  std::uint32_t waits_for;  ///< index of an earlier pass at another place, or `nothing`
  bool hop;                 ///< its input comes from another stage
  int sends_to;             ///< the stage that its result goes to, or its own
};

struct ReadySchedule {
  ScheduleShape shape;
  ScheduleTimes times;  ///< that the order was fitted to
  std::vector<ReadyPass> passes;
};

bool same(const ScheduleTimes& a, const ScheduleTimes& b) {
  const auto equal = [](const PassDurations& x, const PassDurations& y) {
    return x.forward == y.forward && x.input_gradient == y.input_gradient &&
           x.weight_gradient == y.weight_gradient;
  };
  return a.transfer == b.transfer && a.weight_share == b.weight_share &&
         std::equal(a.places.begin(), a.places.end(), b.places.begin(), b.places.end(), equal);
}

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

ReadySchedule prepare(const ScheduleShape& shape, const ScheduleTimes& times) {
  const Schedule schedule =
      times.places.empty() ? make_schedule(shape) : make_schedule(shape, times);
  const std::vector<OrderedPass> order = execution_order(schedule);
  const int last = positions(shape) - 1;
  Arrivals arrivals{positions(shape), shape.microbatches};
  ReadySchedule ready{shape, times, {}};
  ready.passes.reserve(order.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) {
    const auto& [pass, stage] = order[i];
    const PipelinePlace place{stage, pass.chunk};
    const int position = position_of(shape, place);
    const bool forward = pass.kind == PassKind::forward;
    const int before = forward ? position - 1 : position + 1;
    const auto duration = static_cast<std::uint32_t>(4 * (stage * shape.chunks + pass.chunk) +
                                                     static_cast<int>(pass.kind));
    ReadyPass entry{static_cast<std::uint32_t>(stage), duration, nothing, false, stage};
    if (pass.kind != PassKind::weight_gradient) {
      if (before >= 0 && before <= last) {
        entry.waits_for = arrivals.at(forward, before, pass.micro);
        entry.hop = place_at(shape, before, pass.micro).stage != stage;
      }
      const int after = forward ? position + 1 : position - 1;
      if (after >= 0 && after <= last) entry.sends_to = place_at(shape, after, pass.micro).stage;
      arrivals.at(forward, position, pass.micro) = i;
    }
    ready.passes.push_back(entry);
  }
  return ready;
}

std::size_t hash_of(const ScheduleShape& shape, const ScheduleTimes& times) {
  std::size_t hash = 0;
  const auto mix = [&hash](auto value) { hash = 31 * hash + std::hash<decltype(value)>{}(value); };
  for (const int part :
       {static_cast<int>(shape.kind), shape.stages, shape.chunks, shape.microbatches, shape.group})
    mix(part);
  for (const PassDurations& place : times.places) mix(place.forward.value());
  return hash;
}

/// Working out an order costs more than running it: searches ask for the same few again and again.
const ReadySchedule& ready_schedule(const ScheduleShape& shape, const ScheduleTimes& times) {
  constexpr std::size_t most_passes = 4'000'000;  // 64 MB
  thread_local std::unordered_multimap<std::size_t, ReadySchedule> kept;
  thread_local std::size_t passes = 0;
  const std::size_t key = hash_of(shape, times);
  const auto [first, last] = kept.equal_range(key);
  for (auto entry = first; entry != last; ++entry)
    if (entry->second.shape == shape && same(entry->second.times, times)) return entry->second;
  if (passes > most_passes) {
    kept.clear();
    passes = 0;
  }
  const ReadySchedule& added = kept.emplace(key, prepare(shape, times))->second;
  passes += added.passes.size();
  return added;
}

/// Where a stage stands. Marks are in compute time, waiting not counted.
struct Stage {
  Seconds clock;
  Seconds begin;
  Seconds done;            ///< compute so far
  Seconds weights_needed;  ///< mark from which all weights must be there
  Seconds gradients_from;  ///< mark from which gradients may leave
  Seconds gradients_left;  ///< when the first did
  Seconds link;            ///< when its last transfer has arrived: a stage sends one at a time

  void compute(Seconds duration, Seconds weights_arrive) {
    const Seconds before = done;
    done += duration;
    clock += duration;
    if (before <= weights_needed && weights_needed < done)
      clock = max(clock, weights_arrive + (done - weights_needed));
    if (before <= gradients_from && gradients_from < done)
      gradients_left = clock - (done - gradients_from);
  }
};

std::vector<Stage> begin(const ScheduleShape& shape, const StepCosts& costs) {
  std::vector<Stage> stages(costs.stages.size());
  // Of the shape that is run, which may have fewer micro-batches than the costs.
  const double passes =
      static_cast<double>(shape.microbatches) * positions(shape) / (shape.stages * shape.chunks);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const StageCosts& once = costs.stages[s];
    stages[s].clock = once.weights.alone;
    stages[s].weights_needed = once.weight_window;
    Seconds compute = once.weights.slowed + once.gradients.slowed;
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      compute += passes * costs.at({static_cast<int>(s), chunk}).all().total();
    stages[s].gradients_from = compute - once.gradient_window;
  }
  return stages;
}

/// Runs every pass of `ready`; a stage's first and last pass bear the slow-down by its traffic.
PassEnds run(const ReadySchedule& ready, const StepCosts& costs,
             const std::vector<Seconds>& durations) {
  std::vector<Stage> stages = begin(ready.shape, costs);
  thread_local std::vector<Seconds> delivered;  // result of a pass at the stage that waits for it
  delivered.resize(ready.passes.size());
  for (std::size_t i = 0; i < ready.passes.size(); ++i) {
    const ReadyPass& pass = ready.passes[i];
    Stage& stage = stages[pass.stage];
    const SyncTraffic& weights = costs.stages[pass.stage].weights;
    if (pass.hop) stage.clock = max(stage.clock, delivered[pass.waits_for]);
    const bool first = stage.done == Seconds{};
    if (first) stage.begin = stage.clock - weights.alone;
    stage.compute(durations[pass.duration], weights.total());
    if (first && weights.slowed > Seconds{}) stage.compute(weights.slowed, weights.total());
    const auto here = static_cast<int>(pass.stage);
    if (pass.sends_to == here) continue;
    delivered[i] = stage.link = max(stage.clock, stage.link) + costs.hop(here, pass.sends_to);
    if (costs.transfer_blocks) stage.clock = stage.link;
  }
  PassEnds ends(stages.size());
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const SyncTraffic& gradients = costs.stages[s].gradients;
    stages[s].compute(gradients.slowed, costs.stages[s].weights.total());
    ends[s] = {stages[s].begin, stages[s].clock,
               max(stages[s].clock, stages[s].gradients_left + gradients.beside) + gradients.alone};
  }
  return ends;
}

/// Indexed by ReadyPass::duration.
std::vector<Seconds> pass_durations(const StepCosts& costs) {
  std::vector<Seconds> table;
  table.reserve(4 * costs.chunks.size());
  for (const PieceTimes& chunk : costs.chunks) {
    const Seconds input = chunk.input_gradient.total();
    const Seconds weight = chunk.weight_gradient.total();
    table.insert(table.end(), {chunk.forward.total(), input + weight, input, weight});
  }
  return table;
}

}  // namespace

PassEnds run_schedule(const StepCosts& costs, const ScheduleTimes& order) {
  const std::vector<Seconds> durations = pass_durations(costs);
  const ScheduleShape& shape = costs.shape;
  const auto fold = fold_of(shape);
  if (!fold) return run(ready_schedule(shape, order), costs, durations);

  PassEnds ends = run(ready_schedule(fold->longer, order), costs, durations);
  const PassEnds before = run(ready_schedule(fold->shorter, order), costs, durations);
  for (std::size_t s = 0; s < ends.size(); ++s) {
    ends[s].passes += fold->times * (ends[s].passes - before[s].passes);
    ends[s].synchronised += fold->times * (ends[s].synchronised - before[s].synchronised);
  }
  return ends;
}

}  // namespace foretrain
