// SPDX-License-Identifier: Apache-2.0
// What torch.nn.DataParallel's GPUs hold: GPU 0 everything, the others a copy that comes and goes.
// models/memory/README.md, "One process for all GPUs".
#include <initializer_list>

#include "models/data/single_process.hpp"
#include "models/memory/internal/memory_context.hpp"

namespace foretrain::memory_detail {
namespace {

using Item = MemoryItem;

MemoryBytes& at(StageAccount& account, MemoryPhase phase) {
  return account.phase[static_cast<std::size_t>(phase)];
}

void clear(MemoryBytes& rows, std::initializer_list<Item> items) {
  for (const Item item : items) rows[item] = 0.0;
}

}  // namespace

bool accumulates_gradients(const StageContext& context) {
  return context.rules.gradients_resident || context.job.microbatches() > 1;
}

double replica_gradient_bytes(const StageContext& context) {
  return parameter_bytes(context.job).gradient * context.trained.total();
}

/// Buffers of one call: what leaves a GPU, and what the sum arrives in.
double replica_buffers(bool first) { return (first ? 2.0 : 1.0) * replica_buffer.value(); }

void hold_on_first(const StageContext& context, StageAccount& account) {
  const Job& job = context.job;
  if (job.parallel.gather == GatherKind::outputs) {
    at(account, MemoryPhase::forward_loss)[Item::loss] *= job.parallel.data;
    at(account, MemoryPhase::backward_output)[Item::loss_gradient] *= job.parallel.data;
  }
  const double fresh = replica_gradient_bytes(context);
  const bool accumulated = accumulates_gradients(context);
  if (accumulated) at(account, MemoryPhase::backward_layer)[Item::replica_gradients] = fresh;
  // Sums are made while the gradients that they are made from are still there.
  MemoryBytes& reduction = at(account, MemoryPhase::reduction);
  reduction = at(account, MemoryPhase::optimizer);
  reduction[Item::main_gradients] = 0.0;
  reduction[Item::replica_gradients] = (accumulated ? 2.0 : 1.0) * fresh;
  reduction[Item::reduce_buffers] = replica_buffers(true);
}

void hold_on_other(const StageContext& context, StageAccount& account) {
  at(account, MemoryPhase::reduction) = at(account, MemoryPhase::optimizer);
  for (MemoryBytes& rows : account.phase)
    clear(rows, {Item::dense_optimizer, Item::expert_optimizer, Item::main_gradients,
                 Item::dense_gradients, Item::expert_gradients});
  for (const MemoryPhase phase : {MemoryPhase::between_steps, MemoryPhase::optimizer})
    clear(at(account, phase), {Item::dense_weights, Item::expert_weights, Item::embedding_weights,
                               Item::output_weights});
  if (context.job.parallel.gather == GatherKind::outputs) {
    const double logits = gathered_logits(context.job).value();
    at(account, MemoryPhase::forward_loss)[Item::loss] = logits;
    at(account, MemoryPhase::backward_output)[Item::loss_gradient] = logits;
  }
  const double fresh = replica_gradient_bytes(context);
  at(account, MemoryPhase::backward_layer)[Item::replica_gradients] = fresh;
  at(account, MemoryPhase::reduction)[Item::replica_gradients] = fresh;
  at(account, MemoryPhase::reduction)[Item::reduce_buffers] = replica_buffers(false);
}

}  // namespace foretrain::memory_detail
