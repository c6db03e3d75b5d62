// SPDX-License-Identifier: Apache-2.0
// What the operators take that fine-tuning adds to a layer; models/layers/README.md, "Fine-tuning".
#include "models/base/require.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {
namespace {

constexpr double gradient_bytes = 8.0;  // an fp32 sum, read and written

/// In 16 bits, whatever the base is multiplied in.
void add_adapter_product(const LayerOperator& op, double again, const LayerContext& context,
                         OperatorSum& sum) {
  const Gemm gemm{context.rows.of(op.rows), op.out, op.in};
  GemmPasses times = gemm_pass_times(gemm, context.device);
  times.forward *= context.slower;
  times.data_gradient *= context.slower;
  times.weight_gradient *= context.slower;
  times.weight_gradient += context.job.stack.times.gradient_sums *
                           streaming_time(Bytes{gradient_bytes * op.weights()}, context.device);
  if (op.frozen) times.weight_gradient = Seconds{};
  sum.add({op.name, OperatorKind::product, times.forward, times.data_gradient,
           times.weight_gradient, again * times.forward, gemm.flop(),
           gemm_traffic(gemm, context.device.precision)});
}

/// Columns that tensor ranks made apart, brought together; back, each takes the sum of its own.
void add_adapter_gather(const LayerOperator& op, double again, const LayerContext& context,
                        OperatorSum& sum) {
  if (context.job.parallel.tensor == 1) return;
  const Bytes payload{half_bytes * context.rows.of(op.rows) * op.out};
  const Seconds gather = all_gather_time(context.tensor_group, payload, context.path);
  const Seconds scatter = reduce_scatter_time(context.tensor_group, payload, context.path);
  sum.add({op.name,
           OperatorKind::tensor,
           gather,
           scatter,
           Seconds{},
           again * gather,
           Flop{},
           payload,
           {GroupKind::tensor,
            CollectiveOp::all_gather,
            CollectiveOp::reduce_scatter,
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
    case LayerWork::adapter_gather:
      return add_adapter_gather(op, again, context, sum);
    default:
      FORETRAIN_REQUIRE(op.work == LayerWork::weight_streaming);
      add_memory_bound(op.name, op.weights() * op.traffic, again, context, sum);
  }
}

}  // namespace foretrain::layer_detail
