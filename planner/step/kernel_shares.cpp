// SPDX-License-Identifier: Apache-2.0
#include "planner/step/internal/kernel_shares.hpp"

#include "models/grid/stage_layout.hpp"
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

}  // namespace foretrain
