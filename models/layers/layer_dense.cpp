// SPDX-License-Identifier: Apache-2.0
// The operators of the embedding, of the head and of prediction modules; models/README.md,
// "Layers".
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

constexpr double embedding_traffic = 8.0;
constexpr double loss_traffic = 18.0;
constexpr double backward_over_forward = 2.0;

/// A product of what the tensor ranks gather, `width` elements per token.
void add_gathered_product(const LinearLayer& linear, double width, const LayerContext& context,
                          OperatorSum& sum) {
  const GemmPasses times = product_times(linear.gemm, linear.gathered, context);
  add_gather(width, 0.0, times, context, sum);
  add_product(linear, times, 0.0, context, sum);
}

/// Output projection and loss.
void add_output(const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const double columns = job.vocabulary() / context.tensor;
  const LinearLayer projection{"vocabulary projection",
                               {context.tokens, columns, static_cast<double>(job.model.hidden)},
                               Gathered::input};
  add_gathered_product(projection, job.model.hidden, context, sum);
  const Bytes traffic{job.stack.times.head * loss_traffic * context.tokens * columns};
  const Seconds loss = streaming_time(traffic, context.device);
  const double forward = 1.0 / (1.0 + backward_over_forward);
  sum.add({"loss", OperatorKind::streaming, loss * forward, loss * (1.0 - forward), Seconds{},
           Seconds{}, Flop{}, traffic * forward});
}

/// What a module of multi-token prediction makes of the hidden state and the next token's
/// embedding.
void add_prediction_input(const LayerContext& context, OperatorSum& sum) {
  const double hidden = context.job.model.hidden;
  const double elements = 2.0 * context.residual_tokens * hidden;
  add_streaming("prediction norms", elements * norm_traffic, 0.0, context, sum);
  const LinearLayer projection{"prediction projection",
                               {context.tokens, hidden / context.tensor, 2.0 * hidden},
                               Gathered::input};
  add_gathered_product(projection, 2.0 * hidden, context, sum);
}

}  // namespace

void add_embedding(const LayerContext& context, OperatorSum& sum) {
  const double hidden = context.job.model.hidden;
  const Bytes traffic{embedding_traffic * context.tokens * hidden};
  const Seconds pass = streaming_time(traffic, context.device) / 2.0;
  sum.add({"embedding", OperatorKind::streaming, pass, Seconds{}, pass, Seconds{}, Flop{},
           traffic / 2.0});
  OperatorSum exchange;
  add_scatter(hidden, 0.0, {}, context, exchange);  // its other direction runs beside later passes
  const Bytes payload{half_bytes * context.tokens * hidden};
  const CollectiveOp sums =
      context.job.parallel.sequence ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  if (context.job.parallel.tensor > 1)
    sum.add({context.job.parallel.sequence ? "tensor reduce-scatter" : "tensor all-reduce",
             OperatorKind::tensor,
             exchange.forward.tensor,
             Seconds{},
             Seconds{},
             Seconds{},
             Flop{},
             payload,
             {GroupKind::tensor, sums, {}, payload, {}, {}}});
}

void add_head(const LayerContext& context, const LayerContext& layers, OperatorSum& sum) {
  add_output(context, sum);
  const LlmShape& model = context.job.model;
  for (int module = 0; module < model.mtp_layers; ++module) {
    add_prediction_input(layers, sum);
    sum.start_layer();
    add_layer(layers, {model.moe ? LayerKind::moe : LayerKind::dense}, sum);
    add_output(context, sum);
  }
}

}  // namespace foretrain::layer_detail
