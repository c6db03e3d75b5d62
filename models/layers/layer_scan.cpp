// SPDX-License-Identifier: Apache-2.0
// What the chunked scans of state-space and delta mixers take; models/layers/README.md,
// "State-space mixers".
#include "models/layers/layer_scan.hpp"

#include <algorithm>

#include "models/layers/context_kinds.hpp"
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain {
namespace {

const FlopPerSecond hopper_multiprocessor = 989.4 / 132.0 * TFLOPS;  // dense 16-bit, H100 SXM

}  // namespace

FlopPerSecond scan_rate(const Device& device) {
  const FlopPerSecond peak = device.peak_of(Precision::bf16);
  if (device.architecture <= Architecture::hopper || device.multiprocessors == 0)
    return scan_share * peak;
  return scan_share * std::min(peak, device.multiprocessors * hopper_multiprocessor);
}

namespace layer_detail {

void add_scan(const LayerOperator& op, double again, const LayerContext& context,
              OperatorSum& sum) {
  const Job& job = context.job;
  const bool pairs = op.rows == RowKind::keys;  // of the rank that has most of them
  const double tokens =
      context.rows.of(op.rows) * (pairs ? last_rank_share(job.model, job.parallel.context) : 1.0);
  const FlopPerSecond rate = scan_rate(context.job.cluster.host.device);
  const auto time = [&](double flops, double bytes) {
    const Seconds products = rate > FlopPerSecond{} ? Flop{tokens * flops} / rate : Seconds{};
    return context.slower * products + streaming_time(Bytes{tokens * bytes}, context.device);
  };
  const Seconds forward = time(op.scanned.forward, op.traffic.forward);
  sum.add({op.name, OperatorKind::scan, forward, time(op.scanned.backward, op.traffic.backward),
           Seconds{}, again * forward, Flop{tokens * op.scanned.forward},
           Bytes{tokens * op.traffic.forward}});
}

}  // namespace layer_detail

Seconds scan_time(const Job& job, const LayerVariant& variant) {
  Seconds sum;
  for (const Operator& op : layer_operators(job, variant))
    if (op.kind == OperatorKind::scan) sum += op.forward + op.input_gradient + op.recompute;
  return sum;
}

}  // namespace foretrain
