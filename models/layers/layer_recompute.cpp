// SPDX-License-Identifier: Apache-2.0
// What selective recomputation runs again. What it drops stands beside it in the descriptions.
#include "models/layers/internal/layer_builder.hpp"

namespace foretrain::layer_detail {

double run_again(const LayerOperator& op, const Job& job) {
  const Recompute& recompute = job.memory.recompute;
  if (recompute.kind != RecomputeKind::selective) return 0.0;
  if (recompute.every_second_matmul) return op.every_second;
  const auto chosen = [&](LayerModule module) {
    return module != nullptr && recompute.modules.*module;
  };
  return chosen(op.again) || chosen(op.again_too) ? 1.0 : 0.0;
}

}  // namespace foretrain::layer_detail
