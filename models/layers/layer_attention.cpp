// SPDX-License-Identifier: Apache-2.0
// What attention takes, and the ring of context ranks; models/README.md, "Layers".
#include "models/collectives/exposed_exchange.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/internal/layer_builder.hpp"
#include "models/layers/sliding_window.hpp"

namespace foretrain::layer_detail {
namespace {

/// What one rank of the ring computes between two exchanges: its queries with one block of keys.
/// Blocks are paired from both ends of the sequence, so that all ranks have the causal half. Fused
/// kernels pass over keys outside a window; unfused attention computes and masks them.
AttentionWork attention_block(const HeadShape& heads, const LayerContext& context) {
  const Job& job = context.job;
  AttentionWork work;
  const bool fused = job.memory.attention != AttentionKind::unfused;
  // Samples of a row attend to themselves alone; unfused attention makes all scores of the row.
  const double length = fused ? context.lengths.keys : context.lengths.computed;
  const double samples = context.lengths.slowest * context.lengths.computed / length;
  work.batch = job.training.micro_batch * samples;
  work.heads = heads.heads;
  work.query_length = length / job.parallel.context;
  work.key_length = attended_keys(work.query_length, fused ? heads.window : 0.0);
  work.head_dim = heads.head_dim;
  work.value_dim = heads.value_dim;
  return work;
}

/// The exchange of key-value blocks around the ring, beside the attention of the block at hand; the
/// backward pass sends the blocks and their gradients.
void add_ring(const HeadShape& heads, const PassTimes& block, double again,
              const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const int ranks = job.parallel.context;
  const CommGroup group =
      ProcessGrid{job.parallel}.group(GroupKind::context).on_hosts(job.cluster.packing());
  const Bytes keys_and_values{half_bytes * context.tokens * (heads.key + heads.value)};
  const int span = group.domains() > 1 ? group.span_hosts : 1;
  const auto exposed = [&](Bytes payload, Seconds compute) {
    const Seconds send = send_time(payload, span, context.path);
    return (ranks - 1.0) * exposed_exchange(send, compute, job.stack.times.context_slowdown);
  };
  const ExposedExchange forward = exposed(keys_and_values, block.forward);
  const ExposedExchange backward = exposed(2.0 * keys_and_values, block.backward);
  sum.add({"key-value exchange",
           OperatorKind::context,
           forward.shown(),
           backward.shown(),
           Seconds{},
           again * forward.shown(),
           Flop{},
           (ranks - 1.0) * keys_and_values,
           {GroupKind::context,
            CollectiveOp::send,
            CollectiveOp::send,
            (ranks - 1.0) * keys_and_values,
            2.0 * (ranks - 1.0) * keys_and_values,
            {}},
           forward,
           backward});
}

/// Queries, keys, values and outputs once per block; unfused also the scores, which its products
/// write and read on top of what its softmax moves.
Bytes core_traffic(const HeadShape& heads, const AttentionWork& work, const LayerContext& context) {
  const Job& job = context.job;
  const double inputs = half_bytes * context.tokens * (heads.all() + heads.output);
  if (job.memory.attention != AttentionKind::unfused) return Bytes{inputs};
  const double scores = work.batch * work.heads * work.query_length * work.key_length;
  return Bytes{inputs + (2.0 * half_bytes + job.stack.times.score_forward_bytes) * scores};
}

}  // namespace

void add_attention(const HeadShape& heads, double again, const LayerContext& context,
                   OperatorSum& sum) {
  const Job& job = context.job;
  const AttentionWork work = attention_block(heads, context);
  PassTimes block =
      job.memory.attention == AttentionKind::unfused
          ? unfused_attention_time(work, context.device, job.stack.times)
          : flash_attention_time(work, context.device,
                                 flash_factor(job.stack.times, context.device.profile.attention));
  block.forward *= context.slower;
  block.backward *= context.slower;
  const double blocks = job.parallel.context;
  if (blocks > 1.0) add_ring(heads, block, again, context, sum);
  sum.add({"attention", OperatorKind::attention, blocks * block.forward, blocks * block.backward,
           Seconds{}, again * blocks * block.forward, blocks * work.causal_forward_flop(),
           blocks * core_traffic(heads, work, context)});
}

}  // namespace foretrain::layer_detail
