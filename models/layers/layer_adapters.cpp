// SPDX-License-Identifier: Apache-2.0
// What the operators take that fine-tuning adds to a layer; models/layers/README.md, "Fine-tuning".
#include <optional>

#include "models/base/require.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

constexpr double gradient_bytes = 8.0;  // an fp32 sum, read and written

/// The product of an adapter, or of those of all experts.
ExpertGemm adapter_gemm(const LayerOperator& op, const LayerContext& context) {
  if (op.part == LayerPart::experts && op.copies > 1.0) return expert_gemm(op, context);
  return {{context.rows.of(op.rows), op.out, op.in}};
}

Seconds gradient_sums(double elements, const LayerContext& context) {
  return context.job.stack.times.gradient_sums *
         streaming_time(Bytes{gradient_bytes * elements}, context.device);
}

/// In 16 bits, whatever the base is multiplied in.
void add_adapter_product(const LayerOperator& op, double again, const LayerContext& context,
                         OperatorSum& sum) {
  const auto [gemm, factor, products] = adapter_gemm(op, context);
  GemmPasses times = gemm.batch > 1.0 ? grouped_pass_times(gemm, context.device)
                                      : gemm_pass_times(gemm, context.device);
  const double slower = factor * context.slower;
  times.forward *= slower;
  times.data_gradient *= slower;
  times.weight_gradient *= slower;
  times.weight_gradient += gradient_sums(op.weights(), context);
  if (op.frozen) times.weight_gradient = Seconds{};
  sum.add({op.name, OperatorKind::product, times.forward, times.data_gradient,
           times.weight_gradient, again * times.forward, products * gemm.flop(),
           products * gemm_traffic(gemm, context.device.precision)});
}

/// out x in of every expert from its pair, of depth rank; backward the gradients of the pair.
void add_adapter_merge(const LayerOperator& op, double again, const LayerContext& context,
                       OperatorSum& sum) {
  const double rank = context.job.fine_tuning.rank;
  const Gemm gemm{.m = op.out, .n = op.in, .k = rank, .batch = op.copies};
  const GemmPasses times = gemm.batch > 1.0 ? grouped_pass_times(gemm, context.device)
                                            : gemm_pass_times(gemm, context.device);
  const double elements = op.weights();
  const Bytes forward{elements * op.traffic.forward};
  const Seconds made = context.slower * times.forward + streaming_time(forward, context.device);
  sum.add({op.name, OperatorKind::product, made,
           streaming_time(Bytes{elements * op.traffic.backward}, context.device),
           context.slower * (times.data_gradient + times.weight_gradient) +
               gradient_sums(op.vectors, context),
           again * made, gemm.flop(), forward});
}

/// Columns that tensor ranks made apart, brought together; back, each takes the sum of its own.
void add_column_gather(const LayerOperator& op, double again, const LayerContext& context,
                       OperatorSum& sum) {
  const bool experts = op.part == LayerPart::experts;
  const CommGroup& group = experts ? context.experts.tensor : context.tensor_group;
  if (group.ranks == 1) return;
  const Bytes payload{half_bytes * context.rows.of(op.rows) * op.out};
  const Seconds gather = all_gather_time(group, payload, context.path);
  const bool weights = op.rows == RowKind::once;  // for a norm: nothing comes back
  const Seconds scatter = weights ? Seconds{} : reduce_scatter_time(group, payload, context.path);
  sum.add({op.name,
           OperatorKind::tensor,
           gather,
           scatter,
           Seconds{},
           again * gather,
           Flop{},
           payload,
           {experts ? GroupKind::expert_tensor : GroupKind::tensor,
            CollectiveOp::all_gather,
            weights ? std::nullopt : std::optional{CollectiveOp::reduce_scatter},
            payload,
            payload,
            {}},
           {gather, {}, {}},
           {scatter, {}, {}}});
}

}  // namespace

void add_adapter_operator(const LayerOperator& op, double again, const LayerContext& context,
                          OperatorSum& sum) {
  switch (op.work) {
    case LayerWork::adapter:
      return add_adapter_product(op, again, context, sum);
    case LayerWork::column_gather:
      return add_column_gather(op, again, context, sum);
    case LayerWork::adapter_merge:
      return add_adapter_merge(op, again, context, sum);
    default:
      FORETRAIN_REQUIRE(op.work == LayerWork::weight_streaming);
      add_memory_bound(op.name, op.weights() * op.traffic, again, context, sum);
  }
}

}  // namespace foretrain::layer_detail
