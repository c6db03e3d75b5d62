// SPDX-License-Identifier: Apache-2.0
// The operators of a dense transformer layer, of the embedding and of the head.
#include "models/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

// Traffic of fused kernels in bytes per element; models/README.md, "Layers".
constexpr Traffic norm_traffic{4.0, 6.0};
constexpr Traffic residual_traffic{7.0, 6.0};
constexpr double embedding_traffic = 8.0;
constexpr double loss_traffic = 18.0;
constexpr double backward_over_forward = 2.0;

double attention_width(const LlmShape& model) {
  return static_cast<double>(model.heads) * model.head_dim;
}

double qkv_width(const LlmShape& model) {
  return static_cast<double>(model.heads + 2 * model.kv_heads) * model.head_dim;
}

Traffic over_residual(const Traffic& per_element, const LayerContext& context) {
  const double elements = context.residual_tokens * context.job.model.hidden;
  return {per_element.forward * elements, per_element.backward * elements};
}

void add_attention(const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const LlmShape& model = job.model;
  AttentionWork work;
  work.batch = job.training.micro_batch;
  work.heads = model.heads / context.tensor;
  work.query_length = static_cast<double>(job.training.sequence) / job.parallel.context;
  work.key_length = job.training.sequence;
  work.head_dim = model.head_dim;
  work.value_dim = model.head_dim;
  const PassTimes times =
      job.memory.attention == AttentionKind::unfused
          ? unfused_attention_time(work, context.device, job.stack.times)
          : flash_attention_time(work, context.device,
                                 flash_factor(job.stack.times, context.device.profile.attention));
  sum.add({"attention", OperatorKind::attention, times.forward, times.backward, Seconds{},
           context.again.core_attention * times.forward, work.causal_forward_flop(), Bytes{}});
}

}  // namespace

void add_attention_half(const LayerContext& context, OperatorSum& sum) {
  const LlmShape& model = context.job.model;
  const RunAgain& again = context.again;
  const double hidden = model.hidden;
  const double width = qkv_width(model) / context.tensor;
  const bool rotary = model.position == PositionKind::rotary;
  const double heads_traffic = half_bytes * context.tokens * width * (rotary ? 2.0 : 1.0);

  add_streaming("attention norm", over_residual(norm_traffic, context), again.attention_norm,
                context, sum);
  add_gather(hidden, again.attention_gather, context, sum);
  add_product("QKV product", {context.tokens, width, hidden}, again.qkv, context, sum);
  add_streaming(rotary ? "rotary" : "head split", {heads_traffic, heads_traffic}, again.rotary,
                context, sum);
  add_attention(context, sum);
  add_product("projection", {context.tokens, hidden, attention_width(model) / context.tensor},
              again.projection, context, sum);
  add_scatter(hidden, 0.0, context, sum);
  add_streaming("attention residual", over_residual(residual_traffic, context), 0.0, context, sum);
}

void add_dense_half(const LayerContext& context, OperatorSum& sum) {
  const LlmShape& model = context.job.model;
  const RunAgain& again = context.again;
  const double hidden = model.hidden;
  const double width = model.ffn_hidden / context.tensor;
  const double inner = half_bytes * context.tokens * width;
  const Traffic activation =
      model.gated_mlp ? Traffic{3.0 * inner, 5.0 * inner} : Traffic{2.0 * inner, 3.0 * inner};

  add_streaming("MLP norm", over_residual(norm_traffic, context), again.mlp_norm, context, sum);
  add_gather(hidden, again.mlp_gather, context, sum);
  add_product("MLP in product", {context.tokens, model.gated_mlp ? 2.0 * width : width, hidden},
              again.mlp_in, context, sum);
  add_streaming("activation", activation, again.activation, context, sum);
  add_product("MLP out product", {context.tokens, hidden, width}, again.mlp_out, context, sum);
  add_scatter(hidden, again.mlp_scatter, context, sum);
  add_streaming("MLP residual", over_residual(residual_traffic, context), 0.0, context, sum);
}

void add_embedding(const LayerContext& context, OperatorSum& sum) {
  const Bytes traffic{embedding_traffic * context.tokens * context.job.model.hidden};
  const Seconds pass = streaming_time(traffic, context.device) / 2.0;
  sum.add({"embedding", OperatorKind::streaming, pass, Seconds{}, pass, Seconds{}, Flop{},
           traffic / 2.0});
  OperatorSum exchange;  // forward only: nothing goes back through the embedding
  add_gather(context.job.model.hidden, 0.0, context, exchange);
  const TimeParts both = exchange.forward + exchange.input_gradient;
  if (context.job.parallel.tensor > 1)
    sum.add({"tensor scatter", OperatorKind::tensor, both.tensor / 2.0, Seconds{}, Seconds{},
             Seconds{}, Flop{}, Bytes{half_bytes * context.tokens * context.job.model.hidden}});
}

void add_head(const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const double columns = job.vocabulary() / context.tensor;
  const double hidden = job.model.hidden;
  if (job.parallel.tensor > 1) {
    OperatorSum exchange;
    add_gather(hidden, 0.0, context, exchange);
    const Seconds each = (exchange.forward.tensor + exchange.input_gradient.tensor) / 2.0;
    sum.add({"tensor gather", OperatorKind::tensor, each, each, Seconds{}, Seconds{}, Flop{},
             Bytes{half_bytes * context.tokens * hidden}});
  }
  add_product("vocabulary product", {context.tokens, columns, hidden}, 0.0, context, sum);
  const Bytes traffic{job.stack.times.head * loss_traffic * context.tokens * columns};
  const Seconds loss = streaming_time(traffic, context.device);
  const double forward = 1.0 / (1.0 + backward_over_forward);
  sum.add({"loss", OperatorKind::streaming, loss * forward, loss * (1.0 - forward), Seconds{},
           Seconds{}, Flop{}, traffic * forward});
}

}  // namespace foretrain::layer_detail
