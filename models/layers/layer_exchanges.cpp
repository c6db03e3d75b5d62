// SPDX-License-Identifier: Apache-2.0
// Exchanges of tensor ranks before and after what is cut over them, beside the GEMMs there;
// models/layers/README.md, "Time of a layer".
#include <algorithm>

#include "models/collectives/collective_cost.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

/// An exchange over t tensor ranks and the product that needs or makes what is exchanged, piece by
/// piece: a rank multiplies the piece that it has while the next one travels, so that t - 1 of t
/// pieces of the product cover it.
ExposedExchange beside_product(Seconds time, Seconds product, const LayerContext& context) {
  const Job& job = context.job;
  if (!job.communication.overlap.tensor) return {time, {}, {}};
  const Seconds covering = product * (1.0 - 1.0 / context.tensor);
  return exposed_exchange(time, covering, job.stack.times.tensor_slowdown);
}

/// The sum of the gradients of an input, which the product of the weights' gradients does not wait
/// for.
ExposedExchange beside_weights(Seconds time, Seconds product, const LayerContext& context) {
  const StackTimes& stack = context.job.stack.times;
  const bool overlaps = context.job.communication.overlap.tensor;
  const double slowdown = overlaps ? std::min(stack.tensor_slowdown, stack.tensor_slowdown_backward)
                                   : stack.tensor_slowdown_backward;
  return exposed_exchange(time, product, slowdown);
}

}  // namespace

SequenceExchange::SequenceExchange(Bytes payload, const LayerContext& context) {
  const CommGroup& group = context.tensor_group;
  const Job& job = context.job;
  const bool cast = quantised(context.products.precision) && context.recipe.gathers;
  const double copied = job.stack.times.exchange_copy / half_bytes;
  const auto with_copy = [&](Seconds time, Bytes moved) {
    return time + streaming_time(copied * moved, context.device);
  };
  sent = cast ? payload * (context.recipe.element / half_bytes) : payload;
  gather = with_copy(all_gather_time(group, sent, context.path), sent);
  scatter = with_copy(reduce_scatter_time(group, payload, context.path), payload);
}

void add_gather(double width, double again, const GemmPasses& product, const LayerContext& context,
                OperatorSum& sum) {
  const Job& job = context.job;
  if (job.parallel.tensor == 1) return;
  const Bytes payload{half_bytes * context.tokens * width};
  if (!job.parallel.sequence) {
    const ExposedExchange reduce =
        beside_weights(all_reduce_time(context.tensor_group, payload, context.path),
                       product.weight_gradient, context);
    sum.add({"gradient all-reduce",
             OperatorKind::tensor,
             Seconds{},
             reduce.shown(),
             Seconds{},
             Seconds{},
             Flop{},
             payload,
             {GroupKind::tensor, {}, CollectiveOp::all_reduce, {}, payload, {}},
             {},
             reduce});
    return;
  }
  const SequenceExchange exchange{payload, context};
  const ExposedExchange gather = beside_product(exchange.gather, product.forward, context);
  const ExposedExchange scatter =
      beside_weights(exchange.scatter, product.weight_gradient, context);
  sum.add({"tensor all-gather",
           OperatorKind::tensor,
           gather.shown(),
           scatter.shown(),
           Seconds{},
           again * gather.shown(),
           Flop{},
           payload,
           {GroupKind::tensor,
            CollectiveOp::all_gather,
            CollectiveOp::reduce_scatter,
            exchange.sent,
            payload,
            {}},
           gather,
           scatter});
}

void add_scatter(double width, double again, const GemmPasses& product, const LayerContext& context,
                 OperatorSum& sum) {
  const Job& job = context.job;
  if (job.parallel.tensor == 1) return;
  const Bytes payload{half_bytes * context.tokens * width};
  if (!job.parallel.sequence) {
    const ExposedExchange reduce = beside_product(
        all_reduce_time(context.tensor_group, payload, context.path), product.forward, context);
    sum.add({"tensor all-reduce",
             OperatorKind::tensor,
             reduce.shown(),
             Seconds{},
             Seconds{},
             again * reduce.shown(),
             Flop{},
             payload,
             {GroupKind::tensor, CollectiveOp::all_reduce, {}, payload, {}, {}},
             reduce});
    return;
  }
  const SequenceExchange exchange{payload, context};
  const ExposedExchange gather = beside_product(exchange.gather, product.data_gradient, context);
  const ExposedExchange scatter = beside_product(exchange.scatter, product.forward, context);
  sum.add({"tensor reduce-scatter",
           OperatorKind::tensor,
           scatter.shown(),
           gather.shown(),
           Seconds{},
           again * scatter.shown(),
           Flop{},
           payload,
           {GroupKind::tensor,
            CollectiveOp::reduce_scatter,
            CollectiveOp::all_gather,
            payload,
            exchange.sent,
            {}},
           scatter,
           gather});
}

}  // namespace foretrain::layer_detail
