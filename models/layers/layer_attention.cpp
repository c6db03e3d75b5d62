// SPDX-License-Identifier: Apache-2.0
// What attention takes, and the ring of context ranks; models/layers/README.md, "Time of a layer".
#include <algorithm>

#include "models/collectives/collective_cost.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/flops.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

/// What one rank computes between two exchanges: on a ring its queries with one block of keys, else
/// all that it has to, its queries with all keys or its heads with the whole sequence. Blocks are
/// paired from both ends of the sequence, so that all ranks have the causal half. Fused
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
  const double ranks = job.parallel.context;
  const bool rings = job.communication.context_exchange == ContextExchange::ring;
  const bool swaps = job.communication.context_exchange == ContextExchange::all_to_all;
  // A sample shorter than the ranks are many is padded to a token each.
  work.query_length = swaps ? length : std::max(1.0, length / ranks);
  if (swaps) work.heads /= ranks;
  // The last of consecutive parts of a sequence has most to do.
  work.key_length = heads.borrowed > 0.0 && fused
                        ? attended_at_end(length, heads, ranks)
                        : attended_keys(rings ? length / ranks : length, heads, fused);
  work.head_dim = heads.head_dim;
  work.value_dim = heads.value_dim;
  return work;
}

CommGroup context_group(const Job& job) {
  return ProcessGrid{job.parallel}.group(GroupKind::context).on_hosts(job.cluster.packing());
}

/// The exchange of key-value blocks around the ring, beside the attention of the block at hand; the
/// backward pass sends the blocks and their gradients.
void add_ring(const HeadShape& heads, const PassTimes& block, double again,
              const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const int ranks = job.parallel.context;
  const CommGroup group = context_group(job);
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

/// Keys and values of all ranks before attention, again before its backward pass, and the sums of
/// their gradients behind it (Transformer Engine, `context_parallel.py`,
/// `AttnFuncWithCPAndKVAllGather`).
void add_gathered_keys(const HeadShape& heads, const CommGroup& group, double again,
                       const LayerContext& context, OperatorSum& sum) {
  const Bytes payload{half_bytes * context.tokens * group.ranks * (heads.key + heads.value)};
  const Seconds gather = all_gather_time(group, payload, context.path);
  const Seconds scatter = reduce_scatter_time(group, payload, context.path);
  sum.add({"key-value gather",
           OperatorKind::context,
           gather,
           gather + scatter,
           Seconds{},
           again * gather,
           Flop{},
           payload,
           {GroupKind::context,
            CollectiveOp::all_gather,
            CollectiveOp::all_gather,
            payload,
            2.0 * payload,
            {}}});
}

/// What sparse attention gathers before it; the sums of its gradients go back. It is kept for the
/// backward pass (Megatron-Core, `experimental_attention_variant/dsa.py`; of compressed keys
/// `csa.py`).
void add_gathered_sparse(const HeadShape& heads, const CommGroup& group, double again,
                         const LayerContext& context, OperatorSum& sum) {
  const Bytes payload{half_bytes * context.tokens * group.ranks * heads.gathered};
  if (payload <= Bytes{}) return;
  const Seconds gather = all_gather_time(group, payload, context.path);
  const Seconds scatter = reduce_scatter_time(group, payload, context.path);
  sum.add({"sparse key gather",
           OperatorKind::context,
           gather,
           scatter,
           Seconds{},
           again * gather,
           Flop{},
           payload,
           {GroupKind::context,
            CollectiveOp::all_gather,
            CollectiveOp::reduce_scatter,
            payload,
            payload,
            {}}});
}

/// Rows of the residual stream that the rank before holds, and their gradients back: of the last
/// tokens of every sequence (Megatron-Core, `csa_cp_utils.py`, exchange_cp_boundary_hidden).
void add_borrowed_rows(const HeadShape& heads, const CommGroup& group, double again,
                       const LayerContext& context, OperatorSum& sum) {
  if (heads.borrowed <= 0.0) return;
  const Job& job = context.job;
  const Bytes payload{half_bytes * job.training.micro_batch * heads.borrowed * job.model.hidden};
  const int span = group.domains() > 1 ? group.span_hosts : 1;
  const Seconds send = send_time(payload, span, context.path);
  sum.add({"boundary rows",
           OperatorKind::context,
           send,
           send,
           Seconds{},
           again * send,
           Flop{},
           payload,
           {GroupKind::context, CollectiveOp::send, CollectiveOp::send, payload, payload, {}}});
}

/// `width` columns of all rows of a rank for those of other ranks.
void add_swapped(double width, const CommGroup& group, double again, const LayerContext& context,
                 OperatorSum& sum) {
  const double ranks = group.ranks;
  const double domains = group.domains();
  const double sent = half_bytes * context.tokens * width;
  const AllToAllTraffic traffic{Bytes{sent * (ranks - 1.0) / ranks},
                                Bytes{sent * (domains - 1.0) / domains}};
  const Seconds time = all_to_all_time(group, traffic, context.path);
  sum.add({"head exchange",
           OperatorKind::context,
           time,
           time,
           Seconds{},
           again * time,
           Flop{},
           Bytes{sent},
           {GroupKind::context, CollectiveOp::all_to_all, CollectiveOp::all_to_all, traffic.inside,
            traffic.inside, traffic.across}});
}

/// Context ranks that do not send blocks round a ring.
void add_context_exchange(const HeadShape& heads, double again, const LayerContext& context,
                          OperatorSum& sum) {
  const CommGroup group = context_group(context.job);
  if (heads.gathered > 0.0 || heads.borrowed > 0.0) {
    add_borrowed_rows(heads, group, again, context, sum);
    add_gathered_sparse(heads, group, again, context, sum);
  } else if (context.job.communication.context_exchange == ContextExchange::all_gather)
    add_gathered_keys(heads, group, again, context, sum);
  else  // heads for the sequence before attention and the reverse behind it, mirrored in the
        // backward pass (`AttnFuncWithCPAndQKVOA2A` there; DeepSpeed-Ulysses, arXiv 2309.14509)
    add_swapped(heads.all() + heads.output, group, again, context, sum);
}

/// Casts around 8-bit attention (Transformer Engine, `dot_product_attention/backends.py`): queries,
/// keys and values before it and its output after it, in the backward pass their gradients; each
/// reads two bytes and writes one, or the reverse.
void add_attention_casts(const HeadShape& heads, double again, const LayerContext& context,
                         OperatorSum& sum) {
  constexpr double cast_bytes = 3.0;
  const double bytes = cast_bytes * context.tokens * (heads.all() + heads.output);
  add_memory_bound("attention casts", {bytes, bytes}, again, context, sum);
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

void add_context_swap(const LayerOperator& op, double again, const LayerContext& context,
                      OperatorSum& sum) {
  if (context.job.parallel.context > 1)
    add_swapped(op.out, context_group(context.job), again, context, sum);
}

void add_attention(const HeadShape& heads, double again, const LayerContext& context,
                   OperatorSum& sum) {
  const Job& job = context.job;
  const AttentionWork work = attention_block(heads, context);
  PassTimes block =
      job.memory.attention == AttentionKind::unfused
          ? unfused_attention_time(work, context.device, job.stack.times)
          : flash_attention_time(
                work, context.device,
                flash_factor(job.stack.times, job.attention_library(), context.device.profile));
  if (job.training.fp8_attention) {
    const double faster = context.device.profile.attention.eight_bit;
    block = {block.forward / faster, block.backward / faster};
    add_attention_casts(heads, again, context, sum);
  }
  block.forward *= context.slower;
  block.backward *= context.slower;
  const bool rings = job.communication.context_exchange == ContextExchange::ring;
  const double blocks = rings ? job.parallel.context : 1.0;
  if (blocks > 1.0) add_ring(heads, block, again, context, sum);
  if (!rings && job.parallel.context > 1) add_context_exchange(heads, again, context, sum);
  sum.add({"attention", OperatorKind::attention, blocks * block.forward, blocks * block.backward,
           Seconds{}, again * blocks * block.forward, blocks * work.causal_forward_flop(),
           blocks * core_traffic(heads, work, context)});
}

}  // namespace foretrain::layer_detail
