// SPDX-License-Identifier: Apache-2.0
#include "models/step/pass_runner.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "models/schedules/schedule.hpp"
#include "models/step/step_exchanges.hpp"

namespace foretrain {
namespace {

constexpr std::uint32_t nothing = UINT32_MAX;

/// A pass with what it waits for worked out: all that running it needs.
struct ReadyPass {
  std::uint32_t stage;
  std::uint32_t duration;   ///< chunk * 4 + kind
  std::uint32_t waits_for;  ///< index of an earlier pass at another place, or `nothing`
  int sends_to;             ///< the stage that its result goes to, or its own
  bool hop;                 ///< its input comes from another stage
  bool needs_weights;       ///< the first forward pass of its chunk on this stage
  bool fills_buckets;       ///< the last pass of its chunk that makes gradients of weights
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

/// Marks the passes beside which chunks gather their weights and reduce their gradients.
void mark_traffic(const ScheduleShape& shape, std::vector<ReadyPass>& passes) {
  constexpr std::uint32_t kinds = 4;
  const auto kind_of = [](const ReadyPass& pass) {
    return static_cast<PassKind>(pass.duration % kinds);
  };
  std::vector<bool> begun(static_cast<std::size_t>(shape.stages * shape.chunks));
  std::vector<bool> filled = begun;
  for (ReadyPass& pass : passes) {
    if (kind_of(pass) != PassKind::forward || begun[pass.duration / kinds]) continue;
    begun[pass.duration / kinds] = pass.needs_weights = true;
  }
  for (auto pass = passes.rbegin(); pass != passes.rend(); ++pass) {
    const PassKind kind = kind_of(*pass);
    if (kind == PassKind::forward || kind == PassKind::input_gradient) continue;
    if (filled[pass->duration / kinds]) continue;
    filled[pass->duration / kinds] = pass->fills_buckets = true;
  }
}

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
    ReadyPass entry{
        static_cast<std::uint32_t>(stage), duration, nothing, stage, false, false, false};
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
  mark_traffic(shape, ready.passes);
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

/// Where a stage stands.
struct Stage {
  Seconds clock;
  Seconds begin;
  Seconds link;     ///< when its last transfer has arrived: a stage sends one at a time
  Seconds done;     ///< compute so far, waiting not counted
  Seconds filling;  ///< of it before the first chunk fills its buckets
  /// When the exchanges so far are over: of weights, then of gradients.
  Seconds gathered;
  Seconds reduced;
  Seconds all_gathered;  ///< when those of weights will be, if passes run beside them
  TrafficSpan last;      ///< the last pass that fills buckets, and their chunk
  std::uint32_t last_chunk = nothing;
};

/// Runs passes one by one and lets their chunks' traffic run beside them.
class Runner {
 public:
  Runner(const ReadySchedule& ready, const StepCosts& costs) : ready_{ready}, costs_{costs} {
    stages_.resize(costs.stages.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      Stage& stage = stages_[s];
      (costs.overlap.weights ? stage.all_gathered : stage.clock) =
          costs.weights_of(static_cast<int>(s));
    }
  }

  /// @param lost filled where it is given
  PassEnds run(const std::vector<Seconds>& durations, GatherLosses* lost = nullptr) {
    thread_local std::vector<Seconds> kept;
    kept.resize(ready_.passes.size());
    // Result of a pass where it is waited for. Found once: in a library each look at `kept` is a
    // call.
    Seconds* const delivered = kept.data();
    for (std::size_t i = 0; i < ready_.passes.size(); ++i) {
      const ReadyPass& pass = ready_.passes[i];
      Stage& stage = stages_[pass.stage];
      if (pass.hop) stage.clock = max(stage.clock, delivered[pass.waits_for]);
      const Seconds duration = durations[pass.duration];
      if (pass.needs_weights)
        begin_chunk(pass, duration, stage);
      else
        stage.clock += duration;
      stage.done += duration;
      const Seconds both = beside_gathers(duration, stage.clock, stage.all_gathered);
      stage.clock += costs_.overlap.slowdown * both;
      if (lost != nullptr) (*lost)[pass.stage].push_back(costs_.overlap.slowdown * both);
      if (pass.fills_buckets) end_chunk(pass, duration, stage);
      if (pass.sends_to == here(pass)) continue;
      delivered[i] = stage.link =
          max(stage.clock, stage.link) + costs_.hop(here(pass), pass.sends_to);
      if (costs_.transfer_blocks) stage.clock = stage.link;
    }
    return ends();
  }

 private:
  static int here(const ReadyPass& pass) { return static_cast<int>(pass.stage); }

  /// The first pass of a chunk waits for its weights.
  void begin_chunk(const ReadyPass& pass, Seconds duration, Stage& stage) {
    const bool first = stage.done == Seconds{};
    if (!costs_.overlap.weights) {
      if (first) stage.begin = stage.clock - costs_.weights_of(here(pass));
      stage.clock += duration;
      return;
    }
    const ChunkTraffic traffic = costs_.traffic_at(pass.duration / 4);
    const TrafficSpan span =
        gathered_pass(traffic.buckets, traffic.weights, stage.gathered, stage.clock, duration);
    if (first) stage.begin = span.begin - traffic.buckets.lead() * traffic.weights;
    stage.gathered += traffic.weights;
    stage.clock = span.end;
  }

  /// The last pass of a chunk fills its buckets. What is full when the last one of the stage is
  /// over leaves after all that the stage still does.
  void end_chunk(const ReadyPass& pass, Seconds duration, Stage& stage) {
    if (stage.last_chunk == nothing)
      stage.filling = stage.done - duration;
    else
      reduce(stage, stage.last.end);
    stage.last = {stage.clock - duration, stage.clock};
    stage.last_chunk = pass.duration / 4;
  }

  void reduce(Stage& stage, Seconds leaves) const {
    const ChunkTraffic traffic = costs_.traffic_at(stage.last_chunk);
    stage.reduced =
        reduced_at(traffic.buckets, traffic.gradients, stage.last, leaves, stage.reduced);
  }

  PassEnds ends() {
    PassEnds ends(stages_.size());
    for (std::size_t s = 0; s < stages_.size(); ++s) {
      Stage& stage = stages_[s];
      const Seconds gradients = costs_.gradients_of(static_cast<int>(s));
      if (!costs_.overlap.gradients) {
        ends[s] = {stage.begin, stage.clock, stage.clock + gradients};
        continue;
      }
      stage.clock += costs_.overlap.slowdown * min(gradients, stage.done - stage.filling);
      reduce(stage, stage.clock);
      ends[s] = {stage.begin, stage.clock, max(stage.clock, stage.reduced)};
    }
    return ends;
  }

  const ReadySchedule& ready_;
  const StepCosts& costs_;
  std::vector<Stage> stages_;
};

PassEnds run(const ReadySchedule& ready, const StepCosts& costs,
             const std::vector<Seconds>& durations, GatherLosses* lost = nullptr) {
  return Runner{ready, costs}.run(durations, lost);
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

GatherLosses gather_losses(const StepCosts& costs, const ScheduleTimes& order) {
  GatherLosses lost(costs.stages.size());
  if (!costs.overlap.weights || costs.overlap.slowdown <= 0.0 || costs.traffic.empty()) return lost;
  const auto fold = fold_of(costs.shape);
  const ReadySchedule& ready = ready_schedule(fold ? fold->longer : costs.shape, order);
  run(ready, costs, pass_durations(costs), &lost);
  return lost;
}

}  // namespace foretrain
