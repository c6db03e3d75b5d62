// SPDX-License-Identifier: Apache-2.0
// What the operators of a mixture of experts take; models/layers/README.md, "Time of a layer".
#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/layers/internal/layer_builder.hpp"
#include "models/layers/launch_graphs.hpp"
#include "models/schedules/registry.hpp"

namespace foretrain::layer_detail {
namespace {

constexpr double fp32_efficiency = 0.8;  // of the vector units' peak, large products

DispatchTraits dispatch_of(const LayerContext& context) {
  return traits_of(context.job.communication.expert_dispatch);
}

/// Memory-bound kernels around the experts, with their own factor in place of the stack's. Behind a
/// fused dispatch one kernel reads every token that the rank received and writes a row for each of
/// its experts, or adds them up, as well as any fused kernel of the stack does; what the experts'
/// tensor ranks gather is sorted as ever.
void add_expert_streaming(const LayerOperator& op, double again, const LayerContext& context,
                          OperatorSum& sum) {
  const StackTimes& times = context.job.stack.times;
  double bytes = times.expert_elementwise * context.rows.of(op.rows);
  if (op.rows == RowKind::permuted && dispatch_of(context).sorts) {
    const double passes = half_bytes * (1.0 + context.experts.distinct) / op.traffic.forward;
    bytes -= times.expert_elementwise * context.rows.routed;
    bytes += times.elementwise * passes * context.rows.of(RowKind::received);
  }
  add_memory_bound(op.name, bytes * op.out * op.traffic, again, context, sum);
}

/// Biases of the experts' results, times the probabilities that weigh the results (Megatron-Core,
/// `experts.py`, `_apply_bias`): product, sum and concatenation of the experts, in the wider of
/// both types, and with 32 bits a cast. Bytes per element: models/layers/README.md, "Plain
/// kernels".
void add_expert_bias(const LayerOperator& op, double again, const LayerContext& context,
                     OperatorSum& sum) {
  constexpr Traffic narrow{12.0, 16.0};
  constexpr Traffic wide{28.0, 40.0};
  const double elements = context.rows.of(op.rows) * op.out;
  add_memory_bound(op.name, elements * (context.job.training.router_fp32 ? wide : narrow), again,
                   context, sum);
}

/// Router in 16 bits on the matrix units, in fp32 on the vector units.
void add_router(const LayerOperator& op, double again, const LayerContext& context,
                OperatorSum& sum) {
  const Job& job = context.job;
  const Gemm gemm{context.rows.of(op.rows), op.out, op.in};
  GemmPasses times = gemm_pass_times(gemm, context.device);
  const FlopPerSecond vector_peak = job.cluster.host.device.peak_of(Precision::fp32);
  if (job.training.router_fp32 && vector_peak > FlopPerSecond{}) {
    const Seconds wide = gemm.flop() / (fp32_efficiency * vector_peak);
    times = {max(times.forward, wide), max(times.data_gradient, wide),
             max(times.weight_gradient, wide)};
  }
  sum.add({op.name, OperatorKind::product, times.forward, times.data_gradient,
           times.weight_gradient, again * times.forward, gemm.flop(),
           gemm_traffic(gemm, context.device.precision)});
}

/// Tokens of a group's ranks gathered before their products, and the sums scattered after them.
struct Gathering {
  OperatorKind kind;
  GroupKind of;
  const CommGroup& group;
  Bytes payload;
  Seconds latency;  ///< of the forward pass alone, for what it waits for first
  bool before;      ///< the gather, else the reduce-scatter; backward passes do the other
};

void add_gathering(const LayerOperator& op, double again, const Gathering& gathering,
                   const LayerContext& context, OperatorSum& sum) {
  const Bytes payload = gathering.payload;
  const bool before = gathering.before;
  const Seconds gather = all_gather_time(gathering.group, payload, context.path);
  const Seconds scatter = reduce_scatter_time(gathering.group, payload, context.path);
  const Seconds forward = (before ? gather : scatter) + gathering.latency;
  sum.add({op.name,
           gathering.kind,
           forward,
           before ? scatter : gather,
           Seconds{},
           again * forward,
           Flop{},
           payload,
           {gathering.of,
            before ? CollectiveOp::all_gather : CollectiveOp::reduce_scatter,
            before ? CollectiveOp::reduce_scatter : CollectiveOp::all_gather,
            payload,
            payload,
            {}}});
}

/// All tokens of the group to every rank, or their sums back (Megatron-Core, `token_dispatcher.py`,
/// `MoEAllGatherTokenDispatcher`): what the busiest rank receives makes no difference.
void add_gathered_tokens(const LayerOperator& op, double again, const LayerContext& context,
                         OperatorSum& sum) {
  const CommGroup& group = context.experts.exchange;
  const Seconds latency = op.waits && waits_for_counts(context.job.training)
                              ? context.job.stack.times.expert_latency
                              : Seconds{};
  const Bytes payload{half_bytes * context.residual_tokens * group.ranks * op.out};
  add_gathering(op, again,
                {OperatorKind::expert, GroupKind::expert, group, payload, latency, op.waits},
                context, sum);
}

/// Rows to the ranks of their experts, or back. Inside a scale-up domain every row travels; to
/// another domain every row, or a token once, however many of its experts are there.
void add_all_to_all(const LayerOperator& op, double again, const LayerContext& context,
                    OperatorSum& sum) {
  const ExpertPlan& plan = context.experts;
  if (plan.exchange.ranks == 1) return;
  const DispatchTraits dispatch = dispatch_of(context);
  if (dispatch.gathers) return add_gathered_tokens(op, again, context, sum);
  const Job& job = context.job;
  const double ranks = plan.exchange.ranks;
  const double domains = plan.exchange.domains();
  const double row = half_bytes * op.out;
  const double choices = job.model.moe->top_k;
  const double remote = dispatch.copies_across
                            ? choices * (domains - 1.0) / domains
                            : (domains - 1.0) * (1.0 - std::pow(1.0 - 1.0 / domains, choices));
  const double busiest = plan.own / context.rows.routed;
  const double sent = dispatch.distinct_inside ? plan.own * context.experts.distinct : plan.own;
  const AllToAllTraffic traffic{
      Bytes{sent * row * (ranks - 1.0) / ranks},
      Bytes{busiest * context.residual_tokens * row * std::min(remote, choices)}};
  const Seconds time = all_to_all_time(plan.exchange, traffic, context.path);
  const bool waits = op.waits && waits_for_counts(job.training);
  const Seconds forward = waits ? job.stack.times.expert_latency + time : time;
  sum.add({op.name,
           OperatorKind::expert,
           forward,
           time,
           Seconds{},
           again * forward,
           Flop{},
           Bytes{sent * row},
           {GroupKind::expert, CollectiveOp::all_to_all, CollectiveOp::all_to_all, traffic.inside,
            traffic.inside, traffic.across}});
}

/// Gather before, reduce-scatter after the products of experts that tensor ranks share.
void add_expert_tensor(const LayerOperator& op, double again, const LayerContext& context,
                       OperatorSum& sum) {
  const ExpertPlan& plan = context.experts;
  if (plan.tensor.ranks == 1) return;
  const Bytes payload{half_bytes * plan.rows * op.out};
  const bool before = op.work == LayerWork::expert_gather;
  add_gathering(op, again,
                {OperatorKind::tensor, GroupKind::expert_tensor, plan.tensor, payload, {}, before},
                context, sum);
}

/// The product for each of the rank's experts: in one call, or one after another.
void add_expert_product(const LayerOperator& op, double again, const LayerContext& context,
                        OperatorSum& sum) {
  const auto [gemm, factor, products] = expert_gemm(op, context);
  const GemmPasses times = product_times(gemm, op.gathered, context, weight_gradient_of(op));
  sum.add({op.name, OperatorKind::product, factor * times.forward, factor * times.data_gradient,
           factor * times.weight_gradient, again * factor * times.forward, products * gemm.flop(),
           products * gemm_traffic(gemm, context.products.precision)});
}

}  // namespace

ExpertGemm expert_gemm(const LayerOperator& op, const LayerContext& context) {
  const double experts = context.experts.experts;
  Gemm gemm{std::max(1.0, context.experts.rows / experts), op.out, op.in};
  const bool grouped = context.job.training.grouped_experts && experts > 1.0;
  if (grouped) gemm.batch = experts;
  return {gemm, grouped ? context.job.stack.times.grouped_product : experts,
          grouped ? 1.0 : experts};
}

/// What kernels lose to a dispatcher's beside them: the stack's constant is that of as many
/// multiprocessors as it takes by default.
double lost_beside_dispatch(const Job& job) {
  const double usual = traits_of(job.communication.expert_dispatch).multiprocessors;
  const double taken = job.communication.expert_multiprocessors.value_or(usual);
  return std::min(1.0, job.stack.times.expert_slowdown * taken / usual);
}

/// DualPipe runs the exchanges of one micro-batch beside the kernels of another going the other way
/// (arXiv 2412.19437 section 3.2.1), Megatron-Core does so in 1F1B where it is asked to.
void hide_behind_kernels(const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const bool two_ways = job.parallel.pipeline > 1 && traits_of(job.parallel.schedule).overlaps;
  const bool combined = job.communication.overlap.experts && job.microbatches() > 1;
  if (two_ways || combined) sum.hide_expert_exchanges(lost_beside_dispatch(job));
}

void add_expert_operator(const LayerOperator& op, double again, const LayerContext& context,
                         OperatorSum& sum) {
  FORETRAIN_REQUIRE(context.job.model.moe.has_value());
  switch (op.work) {
    case LayerWork::router:
      return add_router(op, again, context, sum);
    case LayerWork::expert_product:
      return add_expert_product(op, again, context, sum);
    case LayerWork::expert_streaming:
      return add_expert_streaming(op, again, context, sum);
    case LayerWork::expert_bias:
      return add_expert_bias(op, again, context, sum);
    case LayerWork::expert_gather:
    case LayerWork::expert_scatter:
      return add_expert_tensor(op, again, context, sum);
    default:
      FORETRAIN_REQUIRE(op.work == LayerWork::expert_exchange);
      return add_all_to_all(op, again, context, sum);
  }
}

}  // namespace foretrain::layer_detail
