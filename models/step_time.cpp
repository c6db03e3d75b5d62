// SPDX-License-Identifier: Apache-2.0
#include "models/step_time.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "models/pass_runner.hpp"

namespace foretrain {
namespace {

/// What the formulas need: stages in the order of the model, one chunk each.
struct Stages {
  explicit Stages(const StepCosts& step)
      : costs{step},
        passes{pass_seconds(step)},
        hop{step.transfer_blocks ? Seconds{} : step.transfer},
        microbatches{static_cast<double>(step.shape.microbatches)},
        count{step.stages.size()} {}

  [[nodiscard]] Seconds forward(std::size_t s) const { return passes[s].forward; }
  [[nodiscard]] Seconds backward(std::size_t s) const { return passes[s].backward; }
  [[nodiscard]] Seconds both(std::size_t s) const { return forward(s) + backward(s); }

  const StepCosts& costs;
  std::vector<PassSeconds> passes;
  Seconds hop;
  double microbatches;
  std::size_t count;
};

/// Ends of the first micro-batch's forward passes: weights arrive, the activation arrives, run.
std::vector<Seconds> fill(const Stages& stages) {
  std::vector<Seconds> ends(stages.count);
  Seconds arrival;
  for (std::size_t s = 0; s < stages.count; ++s) {
    const SyncTraffic& weights = stages.costs.stages[s].weights;
    const Seconds window =
        min(stages.costs.stages[s].weight_window, stages.forward(s) + weights.slowed);
    const Seconds rest = stages.forward(s) + weights.slowed - window;
    ends[s] = max(max(arrival, weights.alone) + window, weights.total()) + rest;
    arrival = ends[s] + stages.hop;
  }
  return ends;
}

/// Lets the last micro-batch's gradient travel back: a stage ends no sooner than the one after it,
/// a transfer and its own backward pass. `ends` holds what each stage needs by itself.
PassEnds drain(const Stages& stages, PassEnds ends) {
  for (std::size_t s = stages.count; s-- > 0;) {
    const Seconds slowed = stages.costs.stages[s].gradients.slowed;
    ends[s] += slowed;
    if (s + 1 < stages.count)
      ends[s] = max(ends[s], ends[s + 1] + stages.hop + stages.backward(s) + slowed);
  }
  return ends;
}

/// One micro-batch at a time through the whole model and back.
PassEnds naive_ends(const Stages& stages) {
  const std::vector<Seconds> filled = fill(stages);
  Seconds round = 2.0 * (static_cast<double>(stages.count) - 1.0) * stages.hop;
  for (std::size_t s = 0; s < stages.count; ++s) round += stages.both(s);
  PassEnds ends(stages.count);
  ends.back() =
      filled.back() + (stages.microbatches - 1.0) * round + stages.backward(stages.count - 1);
  return drain(stages, ends);
}

/// All forward passes, then all backward passes: two flow shops in a row, the slowest stage of each
/// sets its pace.
PassEnds gpipe_ends(const Stages& stages) {
  const std::vector<Seconds> filled = fill(stages);
  Seconds slowest;
  for (std::size_t s = 0; s < stages.count; ++s) slowest = max(slowest, stages.forward(s));
  Seconds first_back = filled.back() + (stages.microbatches - 1.0) * slowest;
  PassEnds ends(stages.count);
  Seconds pace;
  for (std::size_t s = stages.count; s-- > 0;) {
    first_back += stages.backward(s);
    pace = max(pace, stages.backward(s));
    ends[s] = first_back + (stages.microbatches - 1.0) * pace;
    first_back += stages.hop;
  }
  return drain(stages, ends);
}

/// 1F1B: the longest of three kinds of path to the last pass of each stage. With equal stages the
/// first is SC21's bubble (arXiv 2104.04473 section 2.2); the last is what transfers add: a stage
/// s of p has p - s micro-batches in flight, which go around the stages after it in
/// `loop` seconds.
PassEnds one_f_one_b_ends(const Stages& stages) {
  const std::vector<Seconds> filled = fill(stages);
  const double microbatches = stages.microbatches;
  const std::size_t last = stages.count - 1;
  Seconds back = filled.back();  // end of the first micro-batch's backward pass on stage s
  Seconds loop;
  PassEnds ends(stages.count);
  for (std::size_t s = stages.count; s-- > 0;) {
    const Seconds hops = s < last ? stages.hop : Seconds{};
    back += stages.backward(s) + hops;
    loop += stages.both(s) + 2.0 * hops;
    const double in_flight = static_cast<double>(stages.count - s);
    const double warm_up = std::min(in_flight, microbatches);
    const double loops = std::floor((microbatches - 1.0) / in_flight);
    const double before = microbatches - 1.0 - loops * in_flight;
    const Seconds never_waits =
        filled[s] + (microbatches - 1.0) * stages.forward(s) + microbatches * stages.backward(s);
    const Seconds waits_once = back + (microbatches - 1.0) * stages.backward(s) +
                               (microbatches - warm_up) * stages.forward(s);
    const Seconds goes_around = back + before * stages.both(last) + loops * loop;
    ends[s] = max(max(never_waits, waits_once), goes_around);
  }
  return drain(stages, ends);
}

/// The formulas let transfers of one stage overlap each other: right while none is longer than a
/// pass.
bool transfers_are_short(const Stages& stages) {
  for (const PassSeconds& pass : stages.passes)
    if (stages.hop > min(pass.forward, pass.backward)) return false;
  return true;
}

PassEnds pass_ends(const StepCosts& costs) {
  const ScheduleKind kind = costs.shape.kind;
  const bool formula = kind == ScheduleKind::naive || kind == ScheduleKind::gpipe ||
                       kind == ScheduleKind::one_f_one_b;
  if (!formula || costs.shape.chunks > 1) return run_schedule(costs);
  const Stages stages{costs};
  if (!transfers_are_short(stages)) return run_schedule(costs);
  if (kind == ScheduleKind::naive) return naive_ends(stages);
  return kind == ScheduleKind::gpipe ? gpipe_ends(stages) : one_f_one_b_ends(stages);
}

struct StepEnds {
  Seconds passes;  ///< of the last stage to end
  Seconds synchronised;
  Seconds optimizer;

  [[nodiscard]] Seconds total() const { return synchronised + optimizer; }
};

StepEnds step_ends(const StepCosts& costs) {
  const PassEnds ends = pass_ends(costs);
  StepEnds result;
  Seconds tied;  // both ends of the model meet
  for (std::size_t s = 0; s < ends.size(); ++s) {
    const Seconds synchronised = ends[s] + costs.stages[s].exposed_gradients();
    result.passes = max(result.passes, ends[s]);
    result.synchronised = max(result.synchronised, synchronised);
    result.optimizer = max(result.optimizer, costs.stages[s].optimizer);
    if (s == 0 || s + 1 == ends.size()) tied = max(tied, synchronised);
  }
  if (costs.tied_embedding > Seconds{})
    result.synchronised = max(result.synchronised, tied + costs.tied_embedding);
  return result;
}

/// The same step on a fabric that costs nothing between stages.
StepCosts without_transfers(StepCosts costs) {
  costs.transfer = Seconds{};
  return costs;
}

StepCosts without_data(StepCosts costs) {
  for (StageCosts& stage : costs.stages) stage.weights = stage.gradients = SyncTraffic{};
  return costs;
}

Seconds latest(const PassEnds& ends) { return *std::max_element(ends.begin(), ends.end()); }

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
  return (step_ends(costs).total() + costs.constant) * (1.0 + costs.jitter);
}

StepForecast step_time(const StepCosts& costs) {
  const StageWork work = stage_work(costs);
  const StepEnds ends = step_ends(costs);
  const StepCosts alone = without_data(costs);
  const Seconds with_transfers = latest(pass_ends(alone));
  const Seconds passes_only = latest(pass_ends(without_transfers(alone)));

  StepForecast step;
  TimeBreakdown& parts = step.breakdown;
  parts.compute = work.mean.compute;
  parts.recompute = work.mean.recompute;
  parts.tensor = work.mean.tensor;
  parts.context = work.mean.context;
  parts.expert = work.mean.expert;
  parts.launch = work.mean.launch + costs.constant;
  parts.bubble = passes_only - work.busiest;
  parts.pipeline = with_transfers - passes_only;
  parts.data = work.mean.data + (ends.synchronised - with_transfers);
  parts.optimizer = ends.optimizer;
  parts.imbalance = work.imbalance() + costs.jitter * (ends.total() + costs.constant);
  step.time = parts.total();
  step.low = step.high = step.time;
  return step;
}

StepForecast step_time(const Job& job, const StageLayout& layout) {
  return step_time(step_costs(job, layout));
}

}  // namespace foretrain
