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

/// The passes of a piece from the sums of its operators, with what the launching processor adds.
PieceTimes assemble(const OperatorSum& sum, bool recomputed, const StackTimes& times) {
  PieceTimes piece{sum.forward, sum.input_gradient, sum.weight_gradient};
  piece.input_gradient += booked_as_recompute(recomputed ? sum.forward : sum.again);

  // Of the backward pass's launches two in three belong to gradients of inputs, with attention and
  // element-wise kernels; either half has its own floor, so that no half slows when kernels speed
  // up.
  constexpr double of_inputs = 2.0 / 3.0;
  const Seconds again = recomputed ? times.launch_forward : Seconds{};
  piece.forward.launch = launch_excess(piece.forward.total(), times.launch_forward);
  piece.input_gradient.launch =
      launch_excess(piece.input_gradient.total(), of_inputs * times.launch_backward + again);
  piece.weight_gradient.launch =
      launch_excess(piece.weight_gradient.total(), (1.0 - of_inputs) * times.launch_backward);
  return piece;
}

/// A piece that no layer is: no launch floor of its own.
PieceTimes assemble_end(const OperatorSum& sum) {
  return {sum.forward, sum.input_gradient, sum.weight_gradient};
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
  layer.kept = assemble(dense, false, job.stack.times);
  layer.recomputed = assemble(dense, true, job.stack.times);
  OperatorSum embedding;
  add_embedding(context, embedding);
  embedding_ = assemble_end(embedding);
  OperatorSum head;
  add_head(context, head);
  head_ = assemble_end(head);
}

const PieceTimes& LayerCost::layer(LayerKind kind) const { return of(kind).kept; }

const PieceTimes& LayerCost::recomputed_layer(LayerKind kind) const { return of(kind).recomputed; }

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
