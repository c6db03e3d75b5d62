// SPDX-License-Identifier: Apache-2.0
#include "models/step/step_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/index.hpp"
#include "models/inputs/recipe.hpp"
#include "models/inputs/recompute_key.hpp"
#include "models/layers/layer_cost.hpp"
#include "models/schedules/registry.hpp"

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
  pieces.dense = passes_of(cost.layer(LayerKind::dense));
  pieces.moe = passes_of(cost.layer(LayerKind::moe));
  if (job.memory.recompute.kind != RecomputeKind::full) return pieces;
  pieces.dense_again = passes_of(cost.recomputed_layer(LayerKind::dense));
  pieces.moe_again = passes_of(cost.recomputed_layer(LayerKind::moe));
  return pieces;
}

const StepBounds::Pieces& StepBounds::pieces(const Job& job) {
  const Parallel& plan = job.parallel;
  const RecomputeKey again = recompute_key(job.memory.recompute);
  // Quantised weights are cast once per step; experts' exchanges hide beside other micro-batches.
  const bool counted = quantised(job.training.precision) || job.model.moe;
  const bool overlaps = plan.pipeline > 1 && traits_of(plan.schedule).overlaps;
  return layers_.get(
      {plan.tensor, plan.sequence ? 1 : 0, plan.context, plan.expert, plan.expert_tensor,
       job.training.micro_batch, again.way, again.modules, number_of(plan.order),
       counted ? job.microbatches() : 0, overlaps ? 1 : 0, job.model.moe ? plan.pipeline : 0},
      [&] { return price(job); });
}

PassSeconds StepBounds::chunk(const Job& job, const ChunkLayers& layers, const Pieces& pieces) {
  const Recompute& recompute = job.memory.recompute;
  const bool all =
      recompute.kind == RecomputeKind::full &&
      (recompute.method == RecomputeMethod::uniform || recompute.layers >= layers.layers);
  PassSeconds sum;  // of some layers that run again, the first forward pass alone counts
  add(sum, layers.layers - layers.moe_layers, all ? pieces.dense_again : pieces.dense);
  return add(sum, layers.moe_layers, all ? pieces.moe_again : pieces.moe);
}

Seconds StepBounds::least(const Job& job, const StageLayout& layout) {
  const ScheduleShape shape = schedule_shape(job);
  const ScheduleTraits& traits = traits_of(shape.kind);
  if (!kinds_are_uniform(job) || traits.placement == Placement::mirrored) return Seconds{};
  const Pieces& each = pieces(job);
  const double microbatches = shape.microbatches;
  const int last = positions(shape) - 1;
  Seconds least, arrival, back;
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
    least = max(least, arrival + microbatches * (work.forward + work.backward) + back);
    if (traits.staggered) continue;
    arrival += first.forward;
    if (!traits.splits_backward) back += first.backward;
  }
  const StackTimes& times = job.stack.times;
  const double jitter = times.jitter * std::log2(std::max(1, job.cluster.hosts));
  constexpr double rounding = 1.0 - 1e-9;
  return (least + times.step_constant) * ((1.0 + jitter) * times.release * rounding);
}

}  // namespace foretrain
