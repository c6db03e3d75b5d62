// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_bounds.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "models/base/ranges.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/schedules/in_flight.hpp"
#include "models/schedules/registry.hpp"
#include "models/step/step_costs.hpp"
#include "models/step/step_time.hpp"

namespace foretrain {
namespace {

PassSeconds passes_of(const PieceTimes& piece) {
  return {piece.forward.total(), piece.backward().total()};
}

PassSeconds& add(PassSeconds& sum, double times, const PassSeconds& piece) {
  sum.forward += times * piece.forward;
  sum.backward += times * piece.backward;
  return sum;
}

int number_of(const RankOrder& order) {
  int number = 0;
  for (const RankAxis axis : order) number = 8 * number + static_cast<int>(axis);
  return number;
}

/// All layers of a kind take as long.
bool kinds_are_uniform(const Job& job) {
  return bf16_end_layers(job.training) == 0 && !job.model.windows_cut(job.training.sequence);
}

}  // namespace

StepBounds::Pieces StepBounds::price(const Job& job) {
  const LayerCost cost{job};
  Pieces pieces;
  if (job.parallel.vocabulary == VocabularyKind::ends) {
    pieces.embedding = passes_of(cost.embedding());
    pieces.head = passes_of(cost.head());
  }
  if (job.has_tower()) add(pieces.embedding, 1.0, passes_of(tower_times(job)));
  const bool full = job.memory.recompute.kind == RecomputeKind::full;
  for (std::size_t form = 0; form < layer_forms; ++form) {
    LayerVariant variant = variant_of(layer_types[form]);
    pieces.layers[form] = passes_of(cost.layer(variant));
    variant.recomputed = true;
    if (full) pieces.again[form] = passes_of(cost.layer(variant));
  }
  return pieces;
}

const StepBounds::Pieces& StepBounds::pieces(const Job& job) {
  const Parallel& plan = job.parallel;
  const RecomputeKey again = recompute_key(job.memory.recompute);
  // Quantised weights are cast once per step; experts' exchanges hide beside other micro-batches.
  const bool padded =
      job.training.samples.vary() && job.training.samples.layout == SampleLayout::padded;
  const bool counted = quantised(job.training.precision) || job.model.moe || padded;
  const bool overlaps = plan.pipeline > 1 && traits_of(plan.schedule).overlaps;
  return layers_.get({plan.tensor, plan.sequence ? 1 : 0, plan.context, plan.expert,
                      plan.expert_tensor, job.training.micro_batch, again.way, again.modules,
                      number_of(plan.order), counted ? job.microbatches() : 0, overlaps ? 1 : 0,
                      job.model.moe || plan.prediction_stage ? plan.pipeline : 0},
                     [&] { return price(job); });
}

PassSeconds StepBounds::chunk(const Job& job, const ChunkLayers& layers, const Pieces& pieces) {
  const Recompute& recompute = job.memory.recompute;
  const bool all =
      recompute.kind == RecomputeKind::full &&
      (recompute.method == RecomputeMethod::uniform || recompute.layers >= layers.layers);
  const int frozen =
      std::clamp(job.fine_tuning.frozen_layers - layers.first_layer, 0, layers.layers);
  const FormCounts idle = job.model.form_counts(layers.first_layer, frozen);
  PassSeconds sum;  // of some layers that run again, the first forward pass alone counts
  for (std::size_t form = 0; form < layer_forms; ++form)
    if (const int count = layers.forms[form] - idle[form]; count > 0)
      add(sum, count, (all ? pieces.again : pieces.layers)[form]);
  return sum;
}

Seconds StepBounds::least(const Job& job, const StageLayout& layout) {
  const ScheduleShape shape = schedule_shape(job);
  const ScheduleTraits& traits = traits_of(shape.kind);
  if (!kinds_are_uniform(job) || traits.placement == Placement::mirrored) return Seconds{};
  const Pieces& each = pieces(job);
  const double microbatches = shape.microbatches;
  const int last = positions(shape) - 1;
  Seconds least, arrival, back, busiest;
  for (int stage = 0; stage < shape.stages; ++stage) {
    PassSeconds work;
    PassSeconds first;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      PassSeconds pass = StepBounds::chunk(job, layout.chunks[index(stage)][index(chunk)], each);
      const int position = position_of(shape, {stage, chunk});
      if (position == 0) add(pass, 1.0, each.embedding);
      if (position == last) add(pass, 1.0, each.head);
      add(work, 1.0, pass);
      if (chunk == 0) first = pass;
    }
    const Seconds passes = microbatches * (work.forward + work.backward);
    busiest = max(busiest, passes);
    least = max(least, arrival + passes + back);
    if (traits.staggered) continue;
    arrival += first.forward;
    if (!traits.splits_backward) back += first.backward;
  }
  const StackTimes& times = job.stack.times;
  const double jitter = times.jitter * std::log2(std::max(1, job.cluster.hosts));
  constexpr double rounding = 1.0 - 1e-9;
  return (least + step_constant(job, busiest)) * ((1.0 + jitter) * times.release * rounding);
}

namespace {

/// What no order hides of a stage's exchanges once per step, and what passes lose to them at least.
struct Unhidden {
  Seconds weights;       ///< before its first pass
  Seconds weights_slow;  ///< lost by its first forward pass
  Seconds gradients;     ///< after its last pass
  Seconds gradients_slow;
};

Unhidden unhidden(const StepCosts& costs, int stage) {
  const SyncOverlap& overlap = costs.overlap;
  const Seconds weights = costs.weights_of(stage);
  const Seconds gradients = costs.gradients_of(stage);
  Unhidden least{weights, {}, gradients, {}};
  if (overlap.weights) {
    const ChunkTraffic first = costs.traffic_at(costs.index({stage, 0}));
    least.weights = first.buckets.lead() * first.weights;
    const Seconds pass = costs.at({stage, 0}).forward.total();
    const TrafficSpan begun = gathered_pass(first.buckets, first.weights, {}, {}, pass);
    if (stage == 0)  // the others wait for an activation
      least.weights_slow = overlap.slowdown * beside_gathers(pass, begun.end, weights);
  }
  if (!overlap.gradients) return least;
  const bool split = traits_of(costs.shape.kind).splits_backward;
  Seconds filling = split ? Seconds{} : costs.at({stage, 0}).backward().total();
  for (int chunk = 0; chunk < costs.shape.chunks; ++chunk) {  // whichever is the last
    const ChunkTraffic traffic = costs.traffic_at(costs.index({stage, chunk}));
    least.gradients = min(least.gradients, traffic.buckets.edge * traffic.gradients);
    if (!split) filling = min(filling, costs.at({stage, chunk}).backward().total());
  }
  least.gradients_slow = overlap.slowdown * min(gradients, filling);
  return least;
}

/// How long a stage's first forward pass is before its first backward pass at least: until then it
/// has nothing but forward passes to run, and no more than its order has ahead.
class FirstReturn {
 public:
  explicit FirstReturn(const StepCosts& costs)
      : costs_{costs}, count_{positions(costs.shape)}, out_(count()), back_(count()) {
    const bool split = traits_of(costs.shape.kind).splits_backward;
    Seconds out, back;
    for (int position = count_ - 1; position >= 0; --position) {
      const PipelinePlace place = place_at(costs.shape, position, 0);
      const PieceTimes& pass = costs.at(place);
      if (position + 1 < count_) {
        const int next = place_at(costs.shape, position + 1, 0).stage;
        const Seconds hop = next == place.stage ? Seconds{} : costs.hop(place.stage, next);
        out += hop;
        back += hop;
      }
      out += pass.forward.total();
      out_[static_cast<std::size_t>(position)] = out;
      back_[static_cast<std::size_t>(position)] = back;
      back += split ? pass.input_gradient.total() : pass.backward().total();
    }
  }

  /// From the begin of the first pass to that of the first backward pass, less the passes between.
  [[nodiscard]] Seconds idle(int stage) const {
    const ScheduleShape& shape = costs_.shape;
    const ScheduleTraits& traits = traits_of(shape.kind);
    int first = count_;
    int last = 0;
    int ahead = 0;
    Seconds longest;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      const int position = position_of(shape, {stage, chunk});
      first = std::min(first, position);
      last = std::max(last, position);
      ahead += live_passes(shape, stage, chunk).held();
      longest = max(longest, costs_.at({stage, chunk}).forward.total());
    }
    if (traits.fitted == Fitted::all_passes)
      ahead = std::max(ahead, traits.fitted_chunks * shape.stages);
    const Seconds loop =
        out_[static_cast<std::size_t>(first)] + back_[static_cast<std::size_t>(last)];
    return max(Seconds{}, loop - std::min(ahead, shape.chunks * shape.microbatches) * longest);
  }

 private:
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(count_); }

  const StepCosts& costs_;
  int count_;
  std::vector<Seconds> out_;   ///< from a position's forward pass to the end of the last one's
  std::vector<Seconds> back_;  ///< from there to a position's backward pass
};

}  // namespace

Seconds least_step_seconds(const StepCosts& costs) {
  const ScheduleTraits& traits = traits_of(costs.shape.kind);
  const bool split = traits.splits_backward;
  const bool one_way = traits.placement != Placement::mirrored;
  const double microbatches = costs.microbatches_per_chunk();
  Seconds least, optimizer;
  Seconds arrival;  // of the first activation
  Seconds back;     // from this stage's last backward pass to the end of the first stage's
  const Seconds first_sync = unhidden(costs, 0).gradients;
  const FirstReturn first_return{costs};
  for (int s = 0; s < costs.shape.stages; ++s) {
    const StageCosts& once = costs.stages[static_cast<std::size_t>(s)];
    const PieceTimes& first = costs.at({s, 0});
    Seconds work;
    for (int chunk = 0; chunk < costs.shape.chunks; ++chunk)
      work += microbatches * costs.at({s, chunk}).all().total();
    const Unhidden exchanges = unhidden(costs, s);
    const Seconds begin = costs.staggered ? exchanges.weights : max(exchanges.weights, arrival);
    const Seconds idle = one_way ? first_return.idle(s) : Seconds{};
    const Seconds passes = begin + max(exchanges.weights_slow, idle) + work;
    Seconds end = passes + exchanges.gradients_slow + exchanges.gradients;
    if (!split && one_way && !costs.staggered) end = max(end, passes + back + first_sync);
    if (costs.staggered) end += once.optimizer;
    least = max(least, end);
    optimizer = max(optimizer, once.optimizer);
    if (one_way) arrival = begin + first.forward.total() + once.transfer;
    back += first.backward().total() + once.transfer;
  }
  if (!costs.staggered) least += optimizer;
  constexpr double rounding = 1.0 - 1e-9;
  return (least + costs.constant) * ((1.0 + costs.jitter) * costs.release * rounding);
}

}  // namespace foretrain
