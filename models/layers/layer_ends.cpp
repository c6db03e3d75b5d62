// SPDX-License-Identifier: Apache-2.0
// What the operators of a model's ends take; models/layers/README.md, "Time of a layer".

#include "models/layers/layer_ends.hpp"

#include "models/base/require.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

// A kernel that makes the gradient in place reads a 16-bit logit twice and writes it once.
constexpr Traffic fused_loss_traffic{2.0, 4.0};

// Log-probabilities and entropy in plain PyTorch, chunk by chunk, as prime-rl makes them: a logit
// is widened to 32 bits and scaled (14 bytes), compared with the greatest (4), shifted and its
// exponential taken and added up (20), and weighed for the entropy (16); backward it is made again,
// widened and scaled (14), becomes a probability (16), a gradient scaled twice (16) and 16 bits
// wide for each of two products (12).
constexpr Traffic policy_traffic{54.0, 58.0};

/// Of a logit, with the stack's factor; the gradient is made in place by fused kernels.
Traffic loss_bytes(const LayerOperator& op, const Job& job) {
  const StackTimes& times = job.stack.times;
  if (job.fine_tuning.objective == Objective::policy)
    return times.fused_elementwise * policy_traffic;
  const Traffic plain = times.head * op.traffic;
  const Traffic fused = times.fused_elementwise * fused_loss_traffic;
  return job.training.fuses_loss() && fused.total() < plain.total() ? fused : plain;
}

/// A lookup moves whole rows of its table and adds up gradients of weights; a loss every logit, and
/// makes their gradients.
void add_end_streaming(const LayerOperator& op, const LayerContext& context, OperatorSum& sum) {
  const bool lookup = op.work == LayerWork::lookup;
  const Traffic element = lookup ? op.traffic : loss_bytes(op, context.job);
  const double each = element.total();
  const double forward = element.forward / each;
  const Bytes traffic{each * context.rows.of(op.rows) * (lookup ? op.in : op.out)};
  const Seconds time = streaming_time(traffic, context.device);
  const Seconds backward = time * (1.0 - forward);
  const Seconds table = op.frozen ? Seconds{} : backward;
  sum.add({op.name, OperatorKind::streaming, time * forward, lookup ? Seconds{} : backward,
           lookup ? table : Seconds{}, Seconds{}, Flop{}, traffic * forward});
}

/// The sum over the ranks that hold the parts of a table; its other direction runs beside later
/// passes.
void add_lookup_scatter(const LayerOperator& op, const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  if (job.parallel.tensor == 1) return;
  const bool sequence = job.parallel.sequence;
  const Bytes payload{half_bytes * context.rows.of(op.rows) * op.out};
  const CollectiveOp sums = sequence ? CollectiveOp::reduce_scatter : CollectiveOp::all_reduce;
  sum.add({sequence ? "tensor reduce-scatter" : "tensor all-reduce",
           OperatorKind::tensor,
           sequence ? SequenceExchange{payload, context}.scatter
                    : all_reduce_time(context.tensor_group, payload, context.path),
           Seconds{},
           Seconds{},
           Seconds{},
           Flop{},
           payload,
           {GroupKind::tensor, sums, {}, payload, {}, {}}});
}

void add_end(const EndDescription& end, const LayerContext& context, OperatorSum& sum) {
  add_operators(end.operators(), {}, context, sum);
}

void add_output(const LayerContext& context, OperatorSum& sum) {
  EndDescription output{false};
  describe_output(context.job.model, end_cut(context.job), output);
  add_end(output, context, sum);
}

}  // namespace

void add_end_operator(const LayerOperator& op, const LayerContext& context, OperatorSum& sum) {
  if (op.work == LayerWork::lookup_scatter) return add_lookup_scatter(op, context, sum);
  FORETRAIN_REQUIRE(op.work == LayerWork::lookup || op.work == LayerWork::loss);
  add_end_streaming(op, context, sum);
}

void add_embedding(const LayerContext& context, OperatorSum& sum) {
  EndDescription embedding{false};
  describe_embedding(context.job.model, end_cut(context.job), embedding);
  add_end(embedding, context, sum);
}

void add_head(const LayerContext& context, const LayerContext& layers, OperatorSum& sum) {
  add_output(context, sum);
  const bool apart = predicts_apart(context.job);
  for (int module = 0; module < context.job.model.mtp_layers; ++module) {
    if (!apart) add_prediction(layers, sum);
    add_output(context, sum);
  }
}

void add_prediction(const LayerContext& layers, OperatorSum& sum) {
  const LlmShape& model = layers.job.model;
  EndDescription prediction{false};
  describe_prediction(model, end_cut(layers.job), prediction);
  add_end(prediction, layers, sum);
  sum.start_layer();
  add_layer(layers, {prediction_layer(model)}, sum);
}

void add_losses(const LayerContext& context, OperatorSum& sum) {
  EndDescription output{false};
  describe_output(context.job.model, end_cut(context.job), output);
  for (int loss = 0; loss <= context.job.model.mtp_layers; ++loss)
    for (const LayerOperator& op : output.operators())
      if (op.work == LayerWork::loss) add_end_operator(op, context, sum);
}

}  // namespace foretrain::layer_detail
