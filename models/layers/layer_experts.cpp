// SPDX-License-Identifier: Apache-2.0
// The operators of a mixture of experts; models/README.md, "Layers".
#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "models/grid/process_grid.hpp"
#include "models/layers/activations.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

constexpr double logit_traffic = 16.0;   // softmax, top-k and map of one fp32 logit
constexpr double permute_traffic = 8.0;  // one routed element: two copies, read and written
constexpr double sort_traffic = 4.0;     // one gathered element: one copy
constexpr double fp32_efficiency = 0.8;  // of the vector units' peak, large products

/// Rows that a rank's experts work on, and the groups that exchange them.
struct ExpertPlan {
  double experts;  ///< of this rank
  double routed;   ///< rows that this rank's tokens become
  double own;      ///< rows that the busiest rank receives
  double rows;     ///< the same, gathered over the experts' tensor ranks
  double width;    ///< of one expert on this rank
  CommGroup exchange;
  CommGroup tensor;
};

ExpertPlan expert_plan(const LayerContext& context) {
  const Job& job = context.job;
  const Parallel& plan = job.parallel;
  const MoeShape& moe = *job.model.moe;
  const int tensor = plan.expert_tensor_size();
  const ProcessGrid grid{plan};
  const int gpus = job.cluster.host.gpus;
  const double routed = context.residual_tokens * moe.top_k;
  const double own = routed * expert_imbalance(job);
  return {static_cast<double>(moe.experts) / plan.expert,
          routed,
          own,
          own * tensor,
          static_cast<double>(moe.expert_ffn_hidden) / tensor,
          grid.group(GroupKind::expert).on_hosts(gpus),
          grid.group(GroupKind::expert_tensor).on_hosts(gpus)};
}

/// Memory-bound kernels around the experts, with their own factor in place of the stack's.
void add_expert_streaming(std::string_view name, const Traffic& traffic, double again,
                          const LayerContext& context, OperatorSum& sum) {
  add_memory_bound(name, context.job.stack.times.expert_elementwise * traffic, again, context, sum);
}

/// Router in 16 bits on the matrix units, in fp32 on the vector units.
void add_router(double again, const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const double experts = job.model.moe->experts;
  const Gemm gemm{context.residual_tokens, experts, static_cast<double>(job.model.hidden)};
  GemmPasses times = gemm_pass_times(gemm, context.device);
  const FlopPerSecond vector_peak = job.cluster.host.device.peak_of(Precision::fp32);
  if (job.training.router_fp32 && vector_peak > FlopPerSecond{}) {
    const Seconds wide = gemm.flop() / (fp32_efficiency * vector_peak);
    times = {max(times.forward, wide), max(times.data_gradient, wide),
             max(times.weight_gradient, wide)};
  }
  sum.add({"router", OperatorKind::product, times.forward, times.data_gradient,
           times.weight_gradient, again * times.forward, gemm.flop(),
           gemm_traffic(gemm, context.device.precision)});
  const double logits = logit_traffic * context.residual_tokens * experts;
  add_expert_streaming("top-k", {logits, logits}, again, context, sum);
}

/// Rows to the ranks of their experts, or back. Inside a host every row travels; to another host
/// every row, or a token once, however many of its experts are there.
void add_all_to_all(std::string_view name, const ExpertPlan& plan, double again,
                    const LayerContext& context, OperatorSum& sum) {
  if (plan.exchange.ranks == 1) return;
  const Job& job = context.job;
  const double ranks = plan.exchange.ranks;
  const double hosts = plan.exchange.hosts();
  const double row = half_bytes * job.model.hidden;
  const double choices = job.model.moe->top_k;
  const bool copies = job.communication.expert_dispatch == ExpertDispatch::every_copy;
  const double remote_hosts = copies ? choices * (hosts - 1.0) / hosts
                                     : (hosts - 1.0) * (1.0 - std::pow(1.0 - 1.0 / hosts, choices));
  const double busiest = plan.own / plan.routed;
  const AllToAllTraffic traffic{
      Bytes{plan.own * row * (ranks - 1.0) / ranks},
      Bytes{busiest * context.residual_tokens * row * std::min(remote_hosts, choices)}};
  const Seconds time =
      job.stack.times.expert_latency + all_to_all_time(plan.exchange, traffic, context.path);
  sum.add({name, OperatorKind::expert, time, time, Seconds{}, again * time, Flop{},
           Bytes{plan.own * row}});
}

/// Gather before, reduce-scatter after the products of experts that tensor ranks share.
void add_expert_tensor(bool before, const ExpertPlan& plan, double again,
                       const LayerContext& context, OperatorSum& sum) {
  if (plan.tensor.ranks == 1) return;
  const Bytes payload{half_bytes * plan.rows * context.job.model.hidden};
  const Seconds gather = all_gather_time(plan.tensor, payload, context.path);
  const Seconds scatter = reduce_scatter_time(plan.tensor, payload, context.path);
  const Seconds forward = before ? gather : scatter;
  sum.add({before ? "expert all-gather" : "expert reduce-scatter", OperatorKind::tensor, forward,
           before ? scatter : gather, Seconds{}, again * forward, Flop{}, payload});
}

/// The product for each of the rank's experts: in one call, or one after another.
void add_expert_product(const LinearLayer& linear, const ExpertPlan& plan, double again,
                        const LayerContext& context, OperatorSum& sum) {
  Gemm gemm = linear.gemm;
  const bool grouped = context.job.training.grouped_experts && plan.experts > 1.0;
  if (grouped) gemm.batch = plan.experts;
  const double factor = grouped ? context.job.stack.times.grouped_product : plan.experts;
  const GemmPasses times = product_times(gemm, linear.gathered, context);
  const double products = grouped ? 1.0 : plan.experts;
  sum.add({linear.name, OperatorKind::product, factor * times.forward, factor * times.data_gradient,
           factor * times.weight_gradient, again * factor * times.forward, products * gemm.flop(),
           products * gemm_traffic(gemm, context.products.precision)});
}

void add_routed_experts(const ExpertPlan& plan, const RunExpertsAgain& again,
                        const LayerContext& context, OperatorSum& sum) {
  const LlmShape& model = context.job.model;
  const double hidden = model.hidden;
  // What the experts' tensor ranks gather is sorted by expert once more, where a rank has several.
  const double sorted = plan.experts > 1.0 ? sort_traffic * (plan.rows - plan.own) : 0.0;
  const double copies = (permute_traffic * plan.routed + sorted) * hidden;
  const double rows = std::max(1.0, plan.rows / plan.experts);
  const double in = model.gated_mlp ? 2.0 * plan.width : plan.width;
  add_expert_streaming("permute", {copies, copies}, again.routing, context, sum);
  add_all_to_all("dispatch", plan, again.routing, context, sum);
  add_expert_tensor(true, plan, again.routing, context, sum);
  add_expert_product({"expert up projection", {rows, in, hidden}, Gathered::nothing}, plan,
                     again.in, context, sum);
  add_expert_streaming("expert activation", plan.rows * plan.width * activation_traffic(model),
                       again.activation, context, sum);
  add_expert_product({"expert down projection", {rows, hidden, plan.width}, Gathered::nothing},
                     plan, again.out, context, sum);
  add_expert_tensor(false, plan, again.routing, context, sum);
  add_all_to_all("combine", plan, again.routing, context, sum);
  add_expert_streaming("unpermute", {copies, copies}, again.routing, context, sum);
}

void add_shared_experts(const RunExpertsAgain& again, const LayerContext& context,
                        OperatorSum& sum) {
  const LlmShape& model = context.job.model;
  if (model.moe->shared_ffn_hidden == 0) return;
  const double hidden = model.hidden;
  const double width = model.moe->shared_ffn_hidden / context.tensor;
  add_gather(hidden, again.shared_gather, context, sum);
  add_product({"shared expert up projection",
               {context.tokens, model.gated_mlp ? 2.0 * width : width, hidden},
               Gathered::input},
              again.shared_in, context, sum);
  add_streaming("shared expert activation", context.tokens * width * activation_traffic(model),
                again.shared_activation, context, sum);
  add_product(
      {"shared expert down projection", {context.tokens, hidden, width}, Gathered::output_gradient},
      again.shared_out, context, sum);
  add_scatter(hidden, again.shared_scatter, context, sum);
}

/// DualPipe runs the exchanges of one micro-batch beside the kernels of another going the other way
/// (arXiv 2412.19437 section 3.2.1), Megatron-Core does so in 1F1B where it is asked to: what the
/// kernels' window cannot cover stays visible.
void hide_behind_kernels(const LayerContext& context, OperatorSum& sum) {
  const Job& job = context.job;
  const bool two_ways =
      job.parallel.schedule == ScheduleKind::dualpipe && job.parallel.pipeline > 1;
  const bool combined = job.communication.overlap.experts && job.microbatches() > 1;
  if (two_ways || combined) sum.hide_expert_exchanges(job.stack.times.expert_window);
}

}  // namespace

void add_expert_half(const LayerContext& context, OperatorSum& sum) {
  FORETRAIN_REQUIRE(context.job.model.moe.has_value());
  const RunExpertsAgain again = run_experts_again(context.job);
  const ExpertPlan plan = expert_plan(context);
  add_norm("MLP norm", again.mlp_norm, context, sum);
  add_router(again.routing, context, sum);
  add_routed_experts(plan, again, context, sum);
  add_shared_experts(again, context, sum);
  add_residual("MLP residual", context, sum);
  hide_behind_kernels(context, sum);
}

}  // namespace foretrain::layer_detail
