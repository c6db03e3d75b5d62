// SPDX-License-Identifier: Apache-2.0
#include "models/layers/internal/layer_builder.hpp"

#include <algorithm>
#include <cmath>

#include "models/collectives/collective_cost.hpp"
#include "models/grid/process_grid.hpp"

namespace foretrain::layer_detail {
namespace {

Seconds& part_of(TimeParts& parts, OperatorKind kind) {
  switch (kind) {
    case OperatorKind::tensor:
      return parts.tensor;
    case OperatorKind::context:
      return parts.context;
    case OperatorKind::expert:
      return parts.expert;
    case OperatorKind::product:
    case OperatorKind::attention:
    case OperatorKind::scan:
    case OperatorKind::streaming:
      break;
  }
  return parts.compute;
}

Precision product_precision(const Job& job, bool wide) {
  return wide && quantised(job.training.precision) ? Precision::bf16 : job.training.precision;
}

Precision kernel_precision(const Job& job) { return product_precision(job, true); }

/// A policy's logits are made again backward, chunk by chunk.
bool makes_logits_again(const LayerOperator& op, const Job& job) {
  return op.part == LayerPart::ends && op.work == LayerWork::product && op.out > op.in &&
         job.fine_tuning.objective == Objective::policy &&
         job.training.fused_kernels.has(FusedKernel::linear_loss);
}

}  // namespace

void OperatorSum::add(const Operator& op) {
  part_of(forward, op.kind) += op.forward;
  part_of(input_gradient, op.kind) += op.input_gradient;
  part_of(weight_gradient, op.kind) += op.weight_gradient;
  part_of(again, op.kind) += op.recompute;
  if (listed_ != nullptr) listed_->push_back(op);
}

void OperatorSum::start_layer() {
  before_ = forward + input_gradient + weight_gradient;
  forward_before_ = forward;
  input_before_ = input_gradient;
  again_before_ = again;
  if (listed_ != nullptr) listed_before_ = listed_->size();
}

void OperatorSum::hide_expert_exchanges(double slowdown) {
  const TimeParts now = forward + input_gradient + weight_gradient;
  const Seconds exchanges = now.expert - before_.expert;
  if (exchanges <= Seconds{}) return;
  const Seconds kernels = now.compute - before_.compute;
  const ExposedExchange all = exposed_exchange(exchanges, kernels, slowdown);
  const double shown = all.shown() / exchanges;
  const auto shrink = [shown](TimeParts& parts, const TimeParts& before) {
    parts.expert = before.expert + shown * (parts.expert - before.expert);
  };
  shrink(forward, forward_before_);
  shrink(input_gradient, input_before_);
  shrink(again, again_before_);
  if (listed_ == nullptr) return;
  for (std::size_t i = listed_before_; i < listed_->size(); ++i) {
    Operator& op = (*listed_)[i];
    if (op.kind != OperatorKind::expert) continue;
    op.beside = (op.forward / exchanges) * all;
    op.beside_backward = (op.input_gradient / exchanges) * all;
    op.forward *= shown;
    op.input_gradient *= shown;
    op.recompute *= shown;
  }
}

namespace {

ExpertPlan expert_plan(const Job& job, const RowCounts& rows) {
  const Parallel& plan = job.parallel;
  const ProcessGrid grid{plan};
  const Packing packing = job.cluster.packing();
  const MoeShape& moe = *job.model.moe;
  double distinct = 1.0;
  if (traits_of(job.communication.expert_dispatch).distinct_inside) {
    const double ranks = plan.expert;
    distinct = ranks * (1.0 - std::pow(1.0 - 1.0 / ranks, moe.top_k)) / moe.top_k;
  }
  return {static_cast<double>(moe.experts) / plan.expert,
          rows.of(RowKind::received),
          rows.of(RowKind::expert),
          distinct,
          grid.group(GroupKind::expert).on_hosts(packing),
          grid.group(GroupKind::expert_tensor).on_hosts(packing)};
}

}  // namespace

LayerContext::LayerContext(const Job& of, bool wide)
    : job{of},
      lengths{row_statistics(of)},
      device{of.cluster.host.device, of.device_profile, kernel_precision(of)},
      products{of.cluster.host.device, of.device_profile, product_precision(of, wide)},
      recipe{recipe_of(of)},
      path{of.cluster, of.device_profile, of.site},
      rows{row_counts(of, lengths.slowest * lengths.computed)},
      cut{layer_cut(of.parallel)},
      tensor_group{
          ProcessGrid{of.parallel}.group(GroupKind::tensor).on_hosts(of.cluster.packing())},
      experts{of.model.moe ? expert_plan(of, rows) : ExpertPlan{}},
      tokens{rows.of(RowKind::tokens)},
      tensor{static_cast<double>(of.parallel.tensor)},
      residual_tokens{of.parallel.sequence ? tokens / tensor : tokens},
      slower{1.0 / of.site.clock} {}

void add_memory_bound(std::string_view name, const Traffic& traffic, double again,
                      const LayerContext& context, OperatorSum& sum) {
  const Bytes bytes{traffic.forward};
  const Seconds forward = streaming_time(bytes, context.device);
  sum.add({name, OperatorKind::streaming, forward,
           streaming_time(Bytes{traffic.backward}, context.device), Seconds{}, again * forward,
           Flop{}, bytes});
}

namespace {

/// Bytes per element that are really moved: what the stack's kernels, or the one that does it all,
/// move over the least that they could.
Traffic streaming_traffic(const LayerOperator& op, const Job& job) {
  const StackTimes& times = job.stack.times;
  const bool eager = job.stack.eager_torch && op.eager.total() > 0.0;
  const Traffic plain = times.elementwise * (eager ? op.eager : op.traffic);
  const Traffic fused = times.fused_elementwise * op.traffic;
  return op.is_fused(job.training) && fused.total() < plain.total() ? fused : plain;
}

}  // namespace

namespace {

/// Prices the products of a layer, each once: exchanges before and after one run beside it.
class Products {
 public:
  Products(std::span<const LayerOperator> operators, const LayerContext& context)
      : operators_{operators}, context_{context} {}

  static LinearLayer linear(const LayerOperator& op, const LayerContext& context) {
    return {op.name, {context.rows.of(op.rows), op.out, op.in}, op.gathered};
  }

  /// The product at `index`.
  const GemmPasses& at(std::size_t index) {
    if (index != priced_) {
      const LinearLayer product = linear(operators_[index], context_);
      times_ = product_times(product.gemm, product.gathered, context_,
                             weight_gradient_of(operators_[index]));
      priced_ = index;
    }
    return times_;
  }
  /// The next one after `index`; nothing where there is none.
  GemmPasses after(std::size_t index) {
    while (++index < operators_.size())
      if (operators_[index].work == LayerWork::product) return at(index);
    return {};
  }
  /// The last one that was priced.
  [[nodiscard]] const GemmPasses& last() const { return times_; }

 private:
  std::span<const LayerOperator> operators_;
  const LayerContext& context_;
  std::size_t priced_ = static_cast<std::size_t>(-1);
  GemmPasses times_;
};

}  // namespace

void add_operators(std::span<const LayerOperator> operators, const HeadShape& heads,
                   const LayerContext& context, OperatorSum& sum) {
  Products products{operators, context};
  for (std::size_t i = 0; i < operators.size(); ++i) {
    const LayerOperator& op = operators[i];
    const double again = run_again(op, context.job);
    const double rows = context.rows.of(op.rows);
    switch (op.work) {
      case LayerWork::product:
        add_product(Products::linear(op, context), products.at(i), again, context, sum);
        break;
      case LayerWork::attention:
        add_attention(heads, again, context, sum);
        break;
      case LayerWork::scan:
        add_scan(op, again, context, sum);
        break;
      case LayerWork::streaming:
        add_memory_bound(op.name, rows * op.out * streaming_traffic(op, context.job), again,
                         context, sum);
        break;
      case LayerWork::plain:
        // Inside a fused kernel it moves nothing by itself.
        if (!op.is_fused(context.job.training))
          add_memory_bound(op.name, rows * op.out * op.traffic, again, context, sum);
        break;
      case LayerWork::tensor_gather:
        add_gather(op.out, again, products.after(i), context, sum);
        break;
      case LayerWork::context_swap:
        add_context_swap(op, again, context, sum);
        break;
      case LayerWork::tensor_scatter:
        add_scatter(op.out, again, products.last(), context, sum);
        break;
      case LayerWork::router:
      case LayerWork::expert_product:
      case LayerWork::expert_streaming:
      case LayerWork::expert_bias:
      case LayerWork::expert_gather:
      case LayerWork::expert_scatter:
      case LayerWork::expert_exchange:
        add_expert_operator(op, again, context, sum);
        break;
      case LayerWork::lookup:
      case LayerWork::loss:
      case LayerWork::lookup_scatter:
        add_end_operator(op, context, sum);
        break;
      case LayerWork::adapter:
      case LayerWork::adapter_merge:
      case LayerWork::column_gather:
      case LayerWork::weight_streaming:
        add_adapter_operator(op, again, context, sum);
        break;
      case LayerWork::unpriced:
        break;
    }
  }
}

void add_mixer(const LayerType& type, const LayerContext& context, OperatorSum& sum) {
  LayerDescription half{context.job, false};
  describe_mixer(context.job.model, type, context.cut, half);
  add_operators(half.operators(), half.heads, context, sum);
}

void add_second_half(const LayerType& type, const LayerContext& context, OperatorSum& sum) {
  LayerDescription half{context.job, false};
  describe_second(context.job.model, type, context.cut, half);
  add_operators(half.operators(), half.heads, context, sum);
  if (type.kind == LayerKind::moe) hide_behind_kernels(context, sum);
}

void add_layer(const LayerContext& context, const LayerType& type, OperatorSum& sum) {
  add_mixer(type, context, sum);
  add_second_half(type, context, sum);
}

// What selective recomputation runs again. What it drops stands beside it in the descriptions.
double run_again(const LayerOperator& op, const Job& job) {
  if (makes_logits_again(op, job)) return 1.0;
  const Recompute& recompute = job.memory.recompute;
  if (recompute.kind != RecomputeKind::selective) return 0.0;
  if (recompute.every_second_matmul) return op.every_second;
  const auto chosen = [&](LayerModule module) {
    return module != nullptr && recompute.modules.*module;
  };
  return chosen(op.again) || chosen(op.again_too) ? 1.0 : 0.0;
}

}  // namespace foretrain::layer_detail
