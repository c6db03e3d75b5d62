// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/schedules/registry.hpp"
#include "models/step/internal/step_parts.hpp"
#include "models/step/pass_runner.hpp"
#include "models/step/step_exchanges.hpp"

namespace foretrain {
namespace {

/// What the formulas need: stages in the order of the model, one chunk each.
struct Stages {
  explicit Stages(const StepCosts& step)
      : costs{step},
        microbatches{static_cast<double>(step.shape.microbatches)},
        count{step.stages.size()} {}

  [[nodiscard]] Seconds forward(std::size_t s) const { return costs.chunks[s].forward.total(); }
  [[nodiscard]] Seconds backward(std::size_t s) const { return costs.chunks[s].backward().total(); }
  [[nodiscard]] Seconds both(std::size_t s) const { return forward(s) + backward(s); }
  /// Between stage s and the next one.
  [[nodiscard]] Seconds hop(std::size_t s) const { return costs.stages[s].transfer; }
  /// Between stage s and the one before it.
  [[nodiscard]] Seconds hop_before(std::size_t s) const { return s > 0 ? hop(s - 1) : Seconds{}; }

  const StepCosts& costs;
  double microbatches;
  std::size_t count;
};

/// Ends of the first micro-batch's forward passes: weights arrive, the activation arrives, run.
std::vector<Seconds> fill(const Stages& stages) {
  std::vector<Seconds> ends(stages.count);
  Seconds arrival;
  for (std::size_t s = 0; s < stages.count; ++s) {
    const SyncOverlap& overlap = stages.costs.overlap;
    const ChunkTraffic traffic = stages.costs.traffic_at(s);
    const Seconds duration = stages.forward(s);
    ends[s] = max(arrival, traffic.weights) + duration;
    if (overlap.weights) {
      ends[s] = gathered_pass(traffic.buckets, traffic.weights, Seconds{}, arrival, duration).end;
      ends[s] += overlap.slowdown * beside_gathers(duration, ends[s], traffic.weights);
    }
    arrival = ends[s] + stages.hop(s);
  }
  return ends;
}

/// Lets the last micro-batch's gradient travel back: a stage ends no sooner than the one after it,
/// a transfer and its own backward pass. `needed` holds what each stage needs by itself. The last
/// pass fills the buckets of gradients.
PassEnds drain(const Stages& stages, const std::vector<Seconds>& needed) {
  PassEnds ends(stages.count);
  Seconds arrival;
  for (std::size_t s = stages.count; s-- > 0;) {
    const SyncOverlap& overlap = stages.costs.overlap;
    const ChunkTraffic traffic = stages.costs.traffic_at(s);
    const Seconds duration = stages.backward(s);
    const Seconds last = max(needed[s], arrival + duration);
    ends[s] = {Seconds{}, last, last + traffic.gradients};
    if (overlap.gradients) {
      ends[s].passes += overlap.slowdown * min(traffic.gradients, duration);
      ends[s].synchronised = reduced_at(traffic.buckets, traffic.gradients, {last - duration, last},
                                        ends[s].passes, Seconds{});
      ends[s].synchronised = max(ends[s].synchronised, ends[s].passes);
    }
    arrival = last + stages.hop_before(s);
  }
  return ends;
}

/// One micro-batch at a time through the whole model and back.
PassEnds round_ends(const Stages& stages) {
  const std::vector<Seconds> filled = fill(stages);
  Seconds round;
  for (std::size_t s = 0; s < stages.count; ++s)
    round += stages.both(s) + 2.0 * stages.hop_before(s);
  std::vector<Seconds> ends(stages.count);
  ends.back() =
      filled.back() + (stages.microbatches - 1.0) * round + stages.backward(stages.count - 1);
  return drain(stages, ends);
}

/// All forward passes, then all backward passes: two flow shops in a row, the slowest stage of each
/// sets its pace.
PassEnds flow_shop_ends(const Stages& stages) {
  const std::vector<Seconds> filled = fill(stages);
  Seconds first_back;  // end of the last forward pass of all
  Seconds arrival;
  for (std::size_t s = 0; s < stages.count; ++s) {
    first_back = max(arrival + stages.forward(s),
                     filled[s] + (stages.microbatches - 1.0) * stages.forward(s));
    arrival = first_back + stages.hop(s);
  }
  std::vector<Seconds> ends(stages.count);
  Seconds pace;
  for (std::size_t s = stages.count; s-- > 0;) {
    first_back += stages.backward(s);
    pace = max(pace, stages.backward(s));
    ends[s] = first_back + (stages.microbatches - 1.0) * pace;
    first_back += stages.hop_before(s);
  }
  return drain(stages, ends);
}

/// Time that a stage's steady state adds when gradients and activations go around the stages
/// first..j: `rounds` micro-batches, one for every stage of the loop and turn.
Seconds longest_loops(const Stages& stages, std::size_t j, double rounds) {
  Seconds longest = rounds * stages.both(j);
  Seconds loop = stages.both(j);
  for (std::size_t first = j; first-- > 0;) {
    loop += stages.both(first) + 2.0 * stages.hop(first);
    const double length = static_cast<double>(j - first) + 1.0;
    const double turns = std::floor(rounds / length);
    longest = max(longest, turns * loop + (rounds - turns * length) * stages.both(j));
  }
  return longest;
}

/// 1F1B: the longest of three kinds of path to the last pass of stage s, which has w = p - s
/// micro-batches in flight. It never waits; or it waits once, for the first gradient to come back;
/// or it keeps pace with the slowest loop through it until its last activation has left, which then
/// goes to the last stage and comes back. With equal stages and no transfers the last is SC21's
/// bubble (arXiv 2104.04473 section 2.2).
PassEnds longest_loop_ends(const Stages& stages) {
  const std::vector<Seconds> filled = fill(stages);
  const double microbatches = stages.microbatches;
  Seconds back = filled.back();  // end of the first micro-batch's backward pass on stage s
  Seconds beyond;                // from stage s to the last one and back
  std::vector<Seconds> ends(stages.count);
  for (std::size_t s = stages.count; s-- > 0;) {
    back += stages.backward(s);
    const auto in_flight = static_cast<double>(stages.count - s);
    const double rounds = std::max(0.0, microbatches - in_flight);
    const Seconds never_waits =
        filled[s] + (microbatches - 1.0) * stages.forward(s) + microbatches * stages.backward(s);
    const Seconds waits_once =
        back + (microbatches - 1.0) * stages.backward(s) + rounds * stages.forward(s);
    ends[s] = max(never_waits, waits_once);
    if (rounds > 0.0 || s + 1 == stages.count)
      ends[s] = max(ends[s], back + beyond + longest_loops(stages, s, rounds));
    back += stages.hop_before(s);
    beyond += stages.both(s) + 2.0 * stages.hop_before(s);
  }
  return drain(stages, ends);
}

/// The formulas hold for stages of about equal work, or where the last one is the slowest, and for
/// transfers that are short beside passes.
bool formulas_hold(const Stages& stages) {
  constexpr double about_equal = 1.02;
  constexpr double short_share = 0.1;
  const Seconds hop = stages.costs.longest_transfer();
  if (stages.costs.transfer_blocks && hop > Seconds{}) return false;
  Seconds least = stages.both(0);
  Seconds most = least;
  for (std::size_t s = 0; s < stages.count; ++s) {
    const Seconds forward = stages.forward(s);
    const Seconds backward = stages.backward(s);
    if (hop > short_share * min(forward, backward)) return false;
    least = min(least, forward + backward);
    most = max(most, forward + backward);
  }
  return most <= about_equal * max(least, stages.both(stages.count - 1));
}

/// How the passes of a step are followed: by the formulas, or one by one in an order.
struct Way {
  bool formulas = false;
  ScheduleTimes order;
};

Way way_of(const StepCosts& costs) {
  const bool known = traits_of(costs.shape.kind).formula != StepFormula::none;
  if (known && costs.shape.chunks == 1 && formulas_hold(Stages{costs})) return {true, {}};
  return {false, schedule_times(costs)};
}

PassEnds pass_ends(const StepCosts& costs, const Way& way) {
  if (!way.formulas) return run_schedule(costs, way.order);
  const Stages stages{costs};
  switch (traits_of(costs.shape.kind).formula) {
    case StepFormula::rounds:
      return round_ends(stages);
    case StepFormula::flow_shops:
      return flow_shop_ends(stages);
    default:
      return longest_loop_ends(stages);
  }
}

struct StepEnds {
  Seconds synchronised;  ///< all gradients of all stages
  Seconds updated;       ///< all weights
};

/// Both ends of the model meet to add up the gradients of the embedding that they share; where
/// stages do not wait for each other, both pay for the sum without meeting (measured ZB-2p steps
/// with tied embeddings leave no room for a meeting).
void reduce_tied(const StepCosts& costs, PassEnds& ends) {
  if (costs.tied_embedding <= Seconds{} || ends.size() == 1) return;
  if (costs.staggered) {
    ends.front().synchronised += costs.tied_embedding;
    ends.back().synchronised += costs.tied_embedding;
    return;
  }
  const Seconds meet = max(ends.front().synchronised, ends.back().synchronised);
  ends.front().synchronised = ends.back().synchronised = meet + costs.tied_embedding;
}

/// Of the slowest stage, where stages do not wait for each other between steps: from its own first
/// task on.
StepEnds staggered_ends(const StepCosts& costs, const PassEnds& ends) {
  StepEnds slowest;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    const Seconds synchronised = ends[s].synchronised - ends[s].begin;
    slowest.synchronised = max(slowest.synchronised, synchronised);
    slowest.updated = max(slowest.updated, synchronised + costs.stages[s].optimizer);
  }
  return slowest;
}

StepEnds step_ends(const StepCosts& costs, const Way& way) {
  PassEnds ends = pass_ends(costs, way);
  reduce_tied(costs, ends);
  if (costs.staggered) return staggered_ends(costs, ends);
  Seconds synchronised;
  Seconds optimizer;
  for (std::size_t s = 0; s < ends.size(); ++s) {
    synchronised = max(synchronised, ends[s].synchronised);
    optimizer = max(optimizer, costs.stages[s].optimizer);
  }
  return {synchronised, synchronised + optimizer};
}

void leave_out_data(StepCosts& costs) { costs.traffic.clear(); }

void leave_out_transfers(StepCosts& costs) {
  for (StageCosts& stage : costs.stages) stage.transfer = Seconds{};
}

Seconds mean_update(const StepCosts& costs) {
  Seconds sum;
  for (const StageCosts& stage : costs.stages) sum += stage.optimizer;
  return 1.0 / static_cast<double>(costs.stages.size()) * sum;
}

/// From the first pass to the last: of all stages, or of the slowest one where they are staggered.
Seconds pass_span(const StepCosts& costs, const Way& way) {
  Seconds longest;
  for (const StageEnd& end : pass_ends(costs, way))
    longest = max(longest, end.passes - (costs.staggered ? end.begin : Seconds{}));
  return longest;
}

}  // namespace

StageWork stage_work(const StepCosts& costs) {
  StageWork work;
  const double microbatches = costs.microbatches_per_chunk();
  for (int stage = 0; stage < costs.shape.stages; ++stage) {
    TimeParts sum;
    for (int chunk = 0; chunk < costs.shape.chunks; ++chunk)
      sum += microbatches * costs.at({stage, chunk}).all();
    work.mean += 1.0 / costs.shape.stages * sum;
    work.busiest = max(work.busiest, sum.total());
  }
  return work;
}

Seconds step_seconds(const StepCosts& costs) {
  const Seconds all = step_ends(costs, way_of(costs)).updated + costs.constant;
  return all * (1.0 + costs.jitter) * costs.release;
}

StepForecast step_time(const StepCosts& costs) {
  const Way way = way_of(costs);
  const StepEnds ends = step_ends(costs, way);
  StepCosts less = costs;
  leave_out_data(less);
  internal::StepSpans spans;
  spans.work = stage_work(costs).mean;
  spans.updating = mean_update(costs);
  spans.transfers = pass_span(less, way);
  leave_out_transfers(less);
  spans.passes = pass_span(less, way);
  spans.synchronised = ends.synchronised;
  spans.updated = ends.updated;
  spans.all = ends.updated + costs.constant;
  return internal::forecast_of(spans, costs.jitter, costs.release);
}

StepForecast step_time(const Job& job, const StageLayout& layout) {
  return step_time(step_costs(job, layout));
}

}  // namespace foretrain
