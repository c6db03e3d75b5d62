// SPDX-License-Identifier: Apache-2.0
// What selective recomputation runs again. What it drops stands beside it in the descriptions.
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {

namespace {

/// A policy's logits are made again backward, chunk by chunk.
bool makes_logits_again(const LayerOperator& op, const Job& job) {
  return op.part == LayerPart::ends && op.work == LayerWork::product && op.out > op.in &&
         job.fine_tuning.objective == Objective::policy &&
         job.training.fused_kernels.has(FusedKernel::linear_loss);
}

}  // namespace

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
