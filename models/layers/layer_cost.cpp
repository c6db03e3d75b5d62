// SPDX-License-Identifier: Apache-2.0
#include "models/layers/layer_cost.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "models/inputs/recipe.hpp"
#include "models/layers/internal/layer_builder.hpp"
#include "models/layers/launch_graphs.hpp"
#include "models/layers/layer_ends.hpp"

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

/// Times that the processor launches what the device runs once: the threads of all replicas take
/// turns under the interpreter's lock in forward passes, and in those that run again.
double launch_turns(const Parallel& plan) { return plan.single_process() ? plan.data : 1.0; }

LaunchFloor launch_floor(const Job& job) {
  constexpr double growth = 1.23;
  constexpr double widest = 8.0;
  const StackTimes& times = job.stack.times;
  const double others = std::min(static_cast<double>(job.parallel.tensor), widest) - 1.0;
  const Seconds grown = times.launch_tensor * std::pow(others, growth);
  const double turns = launch_turns(job.parallel);  // backward passes run on threads of their own
  return {turns * times.launch_forward + grown, times.launch_backward + grown};
}

/// Launches of a layer over those of a plain one, and of the products that give gradients of its
/// weights.
struct LayerLaunches {
  double all = 1.0;
  double for_weights = 1.0;
  double again = 0.0;  ///< of what selective recomputation runs again
};

/// The passes of a layer from the sums of its operators, with the gaps between kernels and what the
/// launching processor adds.
PieceTimes assemble(const OperatorSum& sum, bool recomputed, const LayerLaunches& number,
                    const Job& job) {
  const double launches = number.all;
  PieceTimes piece{sum.forward, sum.input_gradient, sum.weight_gradient};
  piece.input_gradient += booked_as_recompute(recomputed ? sum.forward : sum.again);

  // Of the backward pass's kernels two in three give gradients of inputs, with attention and
  // element-wise ones; either half has its own floor, so that no half slows when kernels speed up.
  constexpr double of_inputs = 2.0 / 3.0;
  constexpr double of_weights = 1.0 - of_inputs;
  const Seconds gaps = launches * job.stack.times.layer_fixed;
  const LaunchFloor whole = launch_floor(job);
  const LaunchFloor floor{launches * whole.forward, launches * whole.backward};
  const Seconds again = recomputed ? floor.forward : number.again * whole.forward;
  const auto launched = [](const TimeParts& parts, Seconds between, Seconds least) {
    return between + launch_excess(parts.total() + between, least);
  };
  piece.forward.launch = launched(piece.forward, gaps, floor.forward);
  piece.input_gradient.launch =
      launched(piece.input_gradient, of_inputs * gaps, of_inputs * floor.backward + again);
  piece.weight_gradient.launch =
      launched(piece.weight_gradient, number.for_weights * of_weights * gaps,
               number.for_weights * of_weights * floor.backward);
  return piece;
}

/// A piece that no layer is: no launch floor of its own. `gaps` is spread over its passes.
PieceTimes assemble_end(const OperatorSum& sum, Seconds gaps) {
  PieceTimes piece{sum.forward, sum.input_gradient, sum.weight_gradient};
  piece.input_gradient += booked_as_recompute(sum.again);
  for (TimeParts* pass : {&piece.forward, &piece.input_gradient, &piece.weight_gradient})
    pass->launch = gaps / 3.0;
  return piece;
}

/// All prediction modules of a job that has them on a stage without the loss.
void add_predictions(const Job& job, OperatorSum& sum) {
  const LayerContext layers{job};
  for (int module = 0; module < job.model.mtp_layers; ++module) add_prediction(layers, sum);
}

bool same_mixer(const LayerType& a, const LayerType& b) {
  return a.mixer == b.mixer && a.special == b.special && a.windowed == b.windowed;
}

}  // namespace

LayerCost::Types LayerCost::price_layers(const Job& job, bool wide) {
  const LayerContext context{job, wide};
  const LayerCounts counts = layer_counts(job.model, job.training.sequence);
  Types priced;
  std::optional<LayerType> last;
  OperatorSum mixer;  // the same in layers of all kinds
  for (std::size_t i = 0; i < layer_types.size(); ++i) {
    if (counts[i] == 0) continue;
    const LayerType& type = layer_types[i];
    if (!last || !same_mixer(*last, type)) {
      mixer = OperatorSum{};
      layer_detail::add_mixer(type, context, mixer);
    }
    last = type;
    OperatorSum sum = mixer;
    layer_detail::add_second_half(type, context, sum);
    const LayerLaunches launches{relative_launches(job, type), weight_launches(job, type),
                                 again_launches(job, type)};
    priced[i].kept = assemble(sum, false, launches, job);
    if (job.memory.recompute.kind == RecomputeKind::full)
      priced[i].recomputed = assemble(sum, true, launches, job);
    priced[i].frozen.forward = priced[i].kept.forward;
  }
  return priced;
}

LayerCost::LayerCost(const Job& job) : job_{job}, layers_{price_layers(job, false)} {
  wide_ = bf16_end_layers(job.training) > 0 ? price_layers(job, true) : layers_;
  const LayerContext context{job, true};  // the ends of the model are not quantised
  OperatorSum embedding;
  add_embedding(context, embedding);
  embedding_ = assemble_end(embedding, Seconds{});
  OperatorSum head;
  add_head(context, LayerContext{job}, head);
  const bool graphed = job.training.cuda_graphs.has(GraphPart::full_iteration);
  head_ = assemble_end(head, graphed ? Seconds{} : job.stack.times.head_fixed);
  if (!predicts_apart(job)) return;
  OperatorSum prediction;
  add_predictions(job, prediction);
  prediction_ = assemble_end(prediction, Seconds{});
}

const PieceTimes& LayerCost::layer(const LayerVariant& variant) const {
  const Layer& layer = (variant.wide ? wide_ : layers_)[type_index(variant.type())];
  if (variant.frozen) return layer.frozen;
  return variant.recomputed ? layer.recomputed : layer.kept;
}

PieceTimes LayerCost::vocabulary_share() const {
  const double part = job_.stack.times.vocabulary_split / job_.parallel.pipeline;
  PieceTimes share = part * head_;
  share += 1.0 / job_.parallel.pipeline * embedding_;
  return share;
}

Operators layer_operators(const Job& job, const LayerVariant& variant) {
  Operators listed;
  OperatorSum sum{listed};
  add_layer(LayerContext{job, variant.wide}, variant.type(), sum);
  if (variant.recomputed)
    for (Operator& op : listed) op.recompute = op.forward;
  if (variant.frozen)
    for (Operator& op : listed) op.drop_backward();
  return listed;
}

Operators embedding_operators(const Job& job) {
  Operators listed;
  OperatorSum sum{listed};
  add_embedding(LayerContext{job, true}, sum);
  return listed;
}

Operators head_operators(const Job& job) {
  Operators listed;
  OperatorSum sum{listed};
  add_head(LayerContext{job, true}, LayerContext{job}, sum);
  return listed;
}

Operators prediction_operators(const Job& job) {
  Operators listed;
  OperatorSum sum{listed};
  add_predictions(job, sum);
  return listed;
}

Operators loss_operators(const Job& job) {
  Operators listed;
  OperatorSum sum{listed};
  add_losses(LayerContext{job, true}, sum);
  return listed;
}

Operators vocabulary_share_operators(const Job& job) {
  const double stages = job.parallel.pipeline;
  Operators listed;
  const auto append = [&](Operators whole, double part) {
    for (Operator& op : whole) {
      op.forward *= part;
      op.input_gradient *= part;
      op.weight_gradient *= part;
      op.recompute *= part;
      op.beside = part * op.beside;
      op.beside_backward = part * op.beside_backward;
      op.flop /= stages;
      op.bytes /= stages;
      listed.push_back(op);
    }
  };
  append(embedding_operators(job), 1.0 / stages);
  append(head_operators(job), job.stack.times.vocabulary_split / stages);
  return listed;
}

}  // namespace foretrain
