// SPDX-License-Identifier: Apache-2.0
// The operators of a layer's attention half; models/README.md, "Layers".
#include <algorithm>

#include "models/grid/process_grid.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

/// Elements per token on one rank.
struct HeadWidths {
  double query = 0.0;
  double key = 0.0;
  double value = 0.0;
  double output = 0.0;  ///< of the attention, into the output projection

  [[nodiscard]] double all() const { return query + key + value; }
};

HeadWidths head_widths(const LayerContext& context) {
  const LlmShape& model = context.job.model;
  const double heads = model.heads / context.tensor;
  if (model.mla) {
    const MlaShape& mla = *model.mla;
    const double query = heads * (mla.qk_nope_head_dim + mla.qk_rope_head_dim);
    const double value = heads * mla.v_head_dim;
    return {query, query, value, value};
  }
  const double groups = model.kv_heads / context.tensor;
  const double width = heads * model.head_dim;
  return {width, groups * model.head_dim, groups * model.head_dim, width};
}

/// What one rank of the ring computes between two exchanges: its queries with one block of keys.
/// Blocks are paired from both ends of the sequence, so that all ranks have the causal half.
AttentionWork attention_block(const LayerContext& context) {
  const Job& job = context.job;
  const LlmShape& model = job.model;
  AttentionWork work;
  work.batch = job.training.micro_batch;
  work.heads = model.heads / context.tensor;
  work.query_length = static_cast<double>(job.training.sequence) / job.parallel.context;
  work.key_length = work.query_length;
  work.head_dim =
      model.mla ? model.mla->qk_nope_head_dim + model.mla->qk_rope_head_dim : model.head_dim;
  work.value_dim = model.mla ? model.mla->v_head_dim : model.head_dim;
  return work;
}

/// The exchange of key-value blocks around the ring, beside the attention of the block at hand; the
/// backward pass sends the blocks and their gradients.
void add_ring(const HeadWidths& widths, const PassTimes& block, double again,
              const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const int ranks = job.parallel.context;
  const CommGroup group =
      ProcessGrid{job.parallel}.group(GroupKind::context).on_hosts(job.cluster.host.gpus);
  const Bytes keys_and_values{half_bytes * context.tokens * (widths.key + widths.value)};
  const int span = group.hosts() > 1 ? group.span_hosts : 1;
  const double never_hidden = job.stack.times.context_exposed;
  const auto exposed = [&](Bytes payload, Seconds compute) {
    const Seconds send = send_time(payload, span, context.path);
    return (ranks - 1.0) * max(send - compute, never_hidden * send);
  };
  const Seconds forward = exposed(keys_and_values, block.forward);
  sum.add({"key-value exchange", OperatorKind::context, forward,
           exposed(2.0 * keys_and_values, block.backward), Seconds{}, again * forward, Flop{},
           (ranks - 1.0) * keys_and_values});
}

/// Queries, keys, values and outputs once per block; unfused also the scores, which its products
/// write and read on top of what its softmax moves.
Bytes core_traffic(const HeadWidths& widths, const AttentionWork& work,
                   const LayerContext& context) {
  const Job& job = context.job;
  const double inputs = half_bytes * context.tokens * (widths.all() + widths.output);
  if (job.memory.attention != AttentionKind::unfused) return Bytes{inputs};
  const double scores = work.batch * work.heads * work.query_length * work.key_length;
  return Bytes{inputs + (2.0 * half_bytes + job.stack.times.score_forward_bytes) * scores};
}

void add_core(const HeadWidths& widths, double again, const LayerContext& context,
              OperatorSum& sum) {
  const Job& job = context.job;
  const AttentionWork work = attention_block(context);
  PassTimes block =
      job.memory.attention == AttentionKind::unfused
          ? unfused_attention_time(work, context.device, job.stack.times)
          : flash_attention_time(work, context.device,
                                 flash_factor(job.stack.times, context.device.profile.attention));
  block.forward *= context.slower;
  block.backward *= context.slower;
  const double blocks = job.parallel.context;
  if (blocks > 1.0) add_ring(widths, block, again, context, sum);
  sum.add({"attention", OperatorKind::attention, blocks * block.forward, blocks * block.backward,
           Seconds{}, again * blocks * block.forward, blocks * work.causal_forward_flop(),
           blocks * core_traffic(widths, work, context)});
}

/// Down to the latent vectors and up to the heads (DeepSeek-V2, arXiv 2405.04434 section 2.1). The
/// down-projections are whole on every tensor rank, over its share of the tokens; what is gathered
/// for the up-projections are the latents.
void add_latent_projections(const HeadWidths& widths, const RunAgain& again,
                            const LayerContext& context, OperatorSum& sum) {
  const LlmShape& model = context.job.model;
  const MlaShape& mla = *model.mla;
  const double hidden = model.hidden;
  const double query_latent = mla.q_lora_rank;
  const double key_latent = mla.kv_lora_rank;
  const double heads = model.heads / context.tensor;
  const double tokens = context.residual_tokens;
  if (mla.q_lora_rank > 0)
    add_product({"query down projection", {tokens, query_latent, hidden}, Gathered::nothing},
                again.down_projection, context, sum);
  add_product({"key-value down projection",
               {tokens, key_latent + mla.qk_rope_head_dim, hidden},
               Gathered::nothing},
              again.down_projection, context, sum);
  add_streaming("latent norms", tokens * (query_latent + key_latent) * norm_traffic,
                again.down_projection, context, sum);
  const double query_input = mla.q_lora_rank > 0 ? query_latent : hidden;
  add_gather(query_input + key_latent + mla.qk_rope_head_dim, again.attention_gather, context, sum);
  add_product({"query up projection", {context.tokens, widths.query, query_input}, Gathered::input},
              again.qkv, context, sum);
  add_product({"key-value up projection",
               {context.tokens, heads * (mla.qk_nope_head_dim + mla.v_head_dim), key_latent},
               Gathered::input},
              again.qkv, context, sum);
}

}  // namespace

void add_attention_half(const LayerContext& context, OperatorSum& sum) {
  const LlmShape& model = context.job.model;
  const RunAgain again = run_again(context.job);
  const HeadWidths widths = head_widths(context);
  const double hidden = model.hidden;
  const bool rotary = model.position == PositionKind::rotary;
  const double heads_traffic = half_bytes * context.tokens * widths.all() * (rotary ? 2.0 : 1.0);

  add_norm("attention norm", again.attention_norm, context, sum);
  if (model.mla) {
    add_latent_projections(widths, again, context, sum);
  } else {
    add_gather(hidden, again.attention_gather, context, sum);
    add_product({"QKV projection", {context.tokens, widths.all(), hidden}, Gathered::input},
                again.qkv, context, sum);
  }
  if (model.qk_norm)
    add_streaming("query and key norms",
                  context.tokens * (widths.query + widths.key) * norm_traffic, again.rotary,
                  context, sum);
  add_streaming(rotary ? "rotary" : "head split", {heads_traffic, heads_traffic}, again.rotary,
                context, sum);
  add_core(widths, again.core_attention, context, sum);
  add_product({"projection", {context.tokens, hidden, widths.output}, Gathered::output_gradient},
              again.projection, context, sum);
  add_scatter(hidden, 0.0, context, sum);
  add_residual("attention residual", context, sum);
}

}  // namespace foretrain::layer_detail
