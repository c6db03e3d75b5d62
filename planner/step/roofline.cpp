// SPDX-License-Identifier: Apache-2.0

#include "planner/step/roofline.hpp"

#include <algorithm>
#include <map>
#include <tuple>

#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/inputs/recipe.hpp"
#include "models/step/step_costs.hpp"

namespace foretrain {

KernelShares kernel_shares(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts costs = step_costs(job, layout);
  const PieceOperators operators = piece_operators(job);
  KernelShares shares;
  for (const PieceRun& run : costs.runs) {
    const double times = static_cast<double>(run.count) * costs.microbatches_per_chunk();
    for (const Operator& op : operators[static_cast<std::size_t>(run.kind)]) {
      const Seconds time = times * (op.forward + op.input_gradient + op.weight_gradient);
      switch (op.kind) {
        case OperatorKind::product:
          shares.products += time;
          shares.product_flop += 3.0 * times * op.flop;
          break;
        case OperatorKind::attention:
          shares.attention += time;
          break;
        case OperatorKind::scan:
        case OperatorKind::streaming:
          shares.streaming += time;
          break;
        case OperatorKind::tensor:
        case OperatorKind::context:
        case OperatorKind::expert:
          break;
      }
    }
  }
  return shares;
}

namespace {

bool is_kernel(OperatorKind kind) {
  return kind == OperatorKind::product || kind == OperatorKind::attention ||
         kind == OperatorKind::scan || kind == OperatorKind::streaming;
}

/// The ends of the model, wide layers, attention and streaming kernels are not quantised.
Precision precision_of(const Job& job, PieceKind piece, OperatorKind kind) {
  const Precision asked = job.training.precision;
  if (!quantised(asked)) return asked;
  return kind == OperatorKind::product && computes_narrow(piece) ? asked : Precision::bf16;
}

/// Kernels that are one and the same.
using Key = std::tuple<std::string, double, double, Precision>;

}  // namespace

FlopPerSecond Roofline::peak_of(Precision precision) const {
  const auto found =
      std::find_if(ceilings.begin(), ceilings.end(),
                   [&](const RooflineCeiling& one) { return one.precision == precision; });
  FORETRAIN_REQUIRE(found != ceilings.end());
  return found->peak;
}

FlopPerSecond Roofline::bound(const RooflineKernel& kernel) const {
  const FlopPerSecond moved{kernel.intensity() * bandwidth.value()};
  return min(peak_of(kernel.precision), moved);
}

Roofline roofline(const Job& job) {
  const StageLayout layout = stage_layout(job.model, job.parallel);
  const StepCosts costs = step_costs(job, layout);
  const PieceOperators operators = piece_operators(job);
  const Device& device = job.cluster.host.device;
  Roofline result;
  result.bandwidth = device.memory_bandwidth;
  std::map<Key, RooflineKernel> found;
  Seconds all;
  for (const PieceRun& run : costs.runs) {
    const double times =
        static_cast<double>(run.count) * costs.microbatches_per_chunk() / costs.shape.stages;
    for (const Operator& op : operators[static_cast<std::size_t>(run.kind)]) {
      const Seconds passes = op.forward + op.input_gradient + op.weight_gradient + op.recompute;
      if (!is_kernel(op.kind) || passes <= Seconds{}) continue;
      const Precision precision = precision_of(job, run.kind, op.kind);
      RooflineKernel& kernel =
          found[{std::string(op.name), op.flop.value(), op.bytes.value(), precision}];
      kernel.name = op.name;
      kernel.kind = op.kind;
      kernel.precision = precision;
      kernel.flop = op.flop;
      kernel.bytes = op.bytes;
      kernel.time = op.forward;
      kernel.total += times * passes;
      all += times * passes;
    }
  }
  for (auto& entry : found) {
    RooflineKernel& kernel = entry.second;
    kernel.share = kernel.total / all;
    const bool known =
        std::any_of(result.ceilings.begin(), result.ceilings.end(),
                    [&](const RooflineCeiling& one) { return one.precision == kernel.precision; });
    if (!known) result.ceilings.push_back({kernel.precision, device.peak_of(kernel.precision)});
    result.kernels.push_back(std::move(kernel));
  }
  std::sort(result.ceilings.begin(), result.ceilings.end(),
            [](const auto& a, const auto& b) { return a.peak > b.peak; });
  std::stable_sort(result.kernels.begin(), result.kernels.end(),
                   [](const auto& a, const auto& b) { return a.share > b.share; });
  return result;
}

}  // namespace foretrain
