// SPDX-License-Identifier: Apache-2.0
#include "models/layer_cost.hpp"

#include <algorithm>
#include <cmath>

#include "models/internal/layer_builder.hpp"
#include "models/require.hpp"

namespace foretrain {
namespace {

using layer_detail::LayerContext;
using layer_detail::OperatorSum;

/// The slower of device and launching processor, as (a^6 + b^6)^(1/6), and what that adds.
Seconds launch_excess(Seconds device, Seconds processor) {
  if (processor <= Seconds{}) return Seconds{};
  const double ratio = processor / device;
  return device * (std::pow(1.0 + std::pow(ratio, 6.0), 1.0 / 6.0) - 1.0);
}

/// Times of the operators' kernels that run again, as the breakdown books them.
TimeParts booked_as_recompute(TimeParts parts) {
  parts.recompute += parts.compute;
  parts.compute = Seconds{};
  return parts;
}

/// Least time in which the processor launches a pass of a layer. Every rank of a tensor group waits
/// for the slowest processor of its host; the growth is measured up to 8 ranks and belongs to a
/// host, so that wider groups get no more.
struct LaunchFloor {
  Seconds forward;
  Seconds backward;
};

LaunchFloor launch_floor(const Job& job) {
  constexpr double growth = 1.23;
  constexpr double widest = 8.0;
  const StackTimes& times = job.stack.times;
  const double others = std::min(static_cast<double>(job.parallel.tensor), widest) - 1.0;
  const Seconds grown = times.launch_tensor * std::pow(others, growth);
  return {times.launch_forward + grown, times.launch_backward + grown};
}

/// The passes of a layer from the sums of its operators, with the gaps between kernels and what the
/// launching processor adds.
PieceTimes assemble(const OperatorSum& sum, bool recomputed, const Job& job) {
  PieceTimes piece{sum.forward, sum.input_gradient, sum.weight_gradient};
  piece.input_gradient += booked_as_recompute(recomputed ? sum.forward : sum.again);

  const Seconds gaps = job.stack.times.layer_fixed;
  const LaunchFloor floor = launch_floor(job);
  const Seconds again = recomputed ? floor.forward : Seconds{};
  const Seconds forward = piece.forward.total() + gaps;
  const Seconds input = piece.input_gradient.total();
  const Seconds weight = piece.weight_gradient.total();
  const Seconds excess = gaps + launch_excess(input + weight + gaps, floor.backward + again);
  piece.forward.launch = gaps + launch_excess(forward, floor.forward);
  piece.input_gradient.launch = excess * (input / (input + weight));
  piece.weight_gradient.launch = excess * (weight / (input + weight));
  return piece;
}

/// A piece that no layer is: no launch floor of its own. `gaps` is spread over its passes.
PieceTimes assemble_end(const OperatorSum& sum, Seconds gaps) {
  PieceTimes piece{sum.forward, sum.input_gradient, sum.weight_gradient};
  const Seconds total = piece.all().total();
  if (total <= Seconds{}) return piece;
  piece.forward.launch = gaps * (sum.forward.total() / total);
  piece.input_gradient.launch = gaps * (sum.input_gradient.total() / total);
  piece.weight_gradient.launch = gaps * (sum.weight_gradient.total() / total);
  return piece;
}

void add_layer(const LayerContext& context, OperatorSum& sum) {
  add_attention_half(context, sum);
  add_dense_half(context, sum);
}

}  // namespace

LayerCost::LayerCost(const Job& job) : job_{job} {
  FORETRAIN_REQUIRE(!job.model.moe && !job.model.mla);
  const LayerContext context{job};
  OperatorSum dense;
  add_layer(context, dense);
  Layer& layer = layers_[static_cast<std::size_t>(LayerKind::dense)];
  layer.kept = assemble(dense, false, job);
  layer.recomputed = assemble(dense, true, job);
  OperatorSum embedding;
  add_embedding(context, embedding);
  embedding_ = assemble_end(embedding, Seconds{});
  OperatorSum head;
  add_head(context, head);
  head_ = assemble_end(head, job.stack.times.head_fixed);
}

const PieceTimes& LayerCost::layer(LayerKind kind) const { return of(kind).kept; }

const PieceTimes& LayerCost::recomputed_layer(LayerKind kind) const { return of(kind).recomputed; }

PieceTimes LayerCost::chunk(const ChunkLayers& chunk) const {
  const Recompute& recompute = job_.memory.recompute;
  int again = 0;
  if (recompute.kind == RecomputeKind::full)
    again = recompute.method == RecomputeMethod::uniform ? chunk.layers
                                                         : std::min(chunk.layers, recompute.layers);
  PieceTimes sum = static_cast<double>(chunk.layers - again) * layer();
  sum += static_cast<double>(again) * recomputed_layer();
  return sum;
}

Operators layer_operators(const Job& job, const LayerVariant& variant) {
  Operators listed;
  OperatorSum sum{listed};
  add_layer(LayerContext{job}, sum);
  if (variant.recomputed)
    for (Operator& op : listed) op.recompute = op.forward;
  return listed;
}

Operators embedding_operators(const Job& job) {
  Operators listed;
  OperatorSum sum{listed};
  add_embedding(LayerContext{job}, sum);
  return listed;
}

Operators head_operators(const Job& job) {
  Operators listed;
  OperatorSum sum{listed};
  add_head(LayerContext{job}, sum);
  return listed;
}

}  // namespace foretrain
