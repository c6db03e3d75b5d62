// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <vector>

#include "models/step/internal/graph_builder.hpp"

/// The end of a step: gradients that are left, the join of all stages, the optimizer.
namespace foretrain::internal {

/// Both ends of the model add up the gradients of the embedding that they share.
void GraphBuilder::reduce_tied(std::vector<std::uint32_t>& synchronised) {
  if (costs_.tied_embedding <= Seconds{} || costs_.shape.stages == 1) return;
  const std::uint32_t tied = exchanges_ ? rows_.add_exchanges(exchanges_->tied) : no_exchange;
  const std::uint32_t cost =
      exchange_cost("tied embedding", costs_.tied_embedding, tied, costs_.tied_embedding);
  Task task{TaskKind::collective, StreamKind::data, TaskRole::gradients, cost, 0};
  const std::uint32_t first = synchronised.front();
  const std::uint32_t last = synchronised.back();
  const bool meet = !costs_.staggered;
  synchronised.front() = rows_.add(task, {first, meet ? last : no_task});
  task.rank = costs_.shape.stages - 1;
  synchronised.back() = rows_.add(task, {last, meet ? first : no_task});
}

/// Every stage goes on by itself.
void GraphBuilder::finish_staggered(const std::vector<std::uint32_t>& synchronised) {
  graph_.staggered = true;
  const std::uint32_t constant = plain_cost("step constant", costs_.constant);
  for (int stage = 0; stage < costs_.shape.stages; ++stage) {
    const std::uint32_t cost = plain_cost("optimizer", once(stage).optimizer);
    rows_.add({TaskKind::delay, StreamKind::compute, TaskRole::constant, constant, stage},
              {synchronised[static_cast<std::size_t>(stage)]});
    rows_.add({TaskKind::compute, StreamKind::compute, TaskRole::optimizer, cost, stage}, {});
  }
}

/// The task with which a stage has all its gradients.
std::uint32_t GraphBuilder::reduced(int stage) {
  const StageState& now = state(stage);
  const Seconds all = costs_.gradients_of(stage);
  if (all <= Seconds{}) return now.previous;
  if (costs_.overlap.gradients) return rows_.tail(stage, StreamKind::data);
  const std::uint32_t cost = exchange_cost("gradients", all, now.reduction, all);
  return rows_.add({TaskKind::collective, StreamKind::data, TaskRole::gradients, cost, stage},
                   {now.previous});
}

/// Gradients that are left, the join of all stages (norm of the gradients), the optimizer.
void GraphBuilder::finish() {
  std::vector<std::uint32_t> synchronised;
  synchronised.reserve(stages_.size());
  for (int stage = 0; stage < costs_.shape.stages; ++stage) synchronised.push_back(reduced(stage));
  reduce_tied(synchronised);
  if (costs_.staggered) return finish_staggered(synchronised);
  const std::uint32_t join_cost = plain_cost("gradient norm and step constant", costs_.constant);
  const std::uint32_t join =
      rows_.add({TaskKind::delay, StreamKind::compute, TaskRole::constant, join_cost, 0}, {});
  for (const std::uint32_t end : synchronised) rows_.also_wait_for(end);
  for (int stage = 0; stage < costs_.shape.stages; ++stage) {
    const std::uint32_t cost = plain_cost("optimizer", once(stage).optimizer);
    rows_.add({TaskKind::compute, StreamKind::compute, TaskRole::optimizer, cost, stage}, {join});
  }
}

}  // namespace foretrain::internal
