// SPDX-License-Identifier: Apache-2.0
#include "models/memory/memory_needs.hpp"

#include <algorithm>
#include <vector>

#include "models/base/memo.hpp"
#include "models/inputs/recompute_key.hpp"
#include "models/memory/internal/memory_context.hpp"

namespace foretrain {
namespace {

using memory_detail::HeavyStage;
using memory_detail::StageContext;
using memory_detail::StateBytes;

/// Where sums do not suffice, of all stages with their rows.
MemoryNeed need_by_rows(const Job& job, const StageLayout& layout) {
  const ActivationModel activations = activation_model(job);
  const JobLivePasses live{job};
  MemoryNeed need;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const StageAccount account =
        memory_detail::account(memory_detail::make_context(job, layout, activations, stage), live);
    need.peak = max(need.peak, Bytes{account.device});
    need.high = max(need.high, Bytes{account.high});
  }
  return need;
}

/// @param states_of StateBytes of a context without shards
template <class StatesOf>
MemoryNeed need_by_sums(const Job& job, const StageLayout& layout,
                        const ActivationModel& activations, const std::vector<HeavyStage>& heavy,
                        const StatesOf& states_of) {
  const double outside = memory_detail::outside_bytes(job).total();
  MemoryNeed most;
  for (const HeavyStage& stage : heavy) {
    const StageContext context =
        memory_detail::pass_context(job, layout, activations, stage.content);
    const StateBytes& states = states_of(context);
    double allocated = 0.0;
    for (const double total : memory_detail::phase_totals(context, states, stage.live))
      allocated = std::max(allocated, total);
    const MemoryNeed need = memory_detail::need_of(job, allocated, outside, states.paged);
    most = {max(most.peak, need.peak), max(most.high, need.high)};
  }
  return most;
}

StateBytes states_of_stage(StageContext context) {
  memory_detail::add_shards(context);
  return memory_detail::state_bytes(context);
}

constexpr std::size_t state_axes = 9 + layer_forms;

int flag(bool value) { return value ? 1 : 0; }

}  // namespace

struct MemoryNeeds::Parts {
  Memo<9, ActivationModel, 512> activations;
  Memo<5, std::vector<HeavyStage>, 4096> heavy;
  Memo<state_axes, StateBytes, 4096> states;
};

MemoryNeeds::MemoryNeeds() : parts_{std::make_unique<Parts>()} {}
MemoryNeeds::~MemoryNeeds() = default;
MemoryNeeds::MemoryNeeds(MemoryNeeds&&) noexcept = default;
MemoryNeeds& MemoryNeeds::operator=(MemoryNeeds&&) noexcept = default;

void MemoryNeeds::clear() { *parts_ = Parts{}; }

MemoryNeed MemoryNeeds::alone(const Job& job, const StageLayout& layout) {
  if (!memory_detail::sums_suffice(job)) return need_by_rows(job, layout);
  return need_by_sums(job, layout, activation_model(job), memory_detail::heavy_stages(job, layout),
                      states_of_stage);
}

MemoryNeed MemoryNeeds::of(const Job& job, const StageLayout& layout) {
  if (!memory_detail::sums_suffice(job)) return need_by_rows(job, layout);
  const Parallel& plan = job.parallel;
  const RecomputeKey again = recompute_key(job.memory.recompute);
  const ActivationModel& activations = parts_->activations.get(
      {plan.tensor, flag(plan.sequence), plan.context, plan.expert, plan.expert_tensor,
       job.training.micro_batch, again.way, again.modules,
       // Uneven experts even out over the layers of a stage.
       job.training.moe_routing.spread == ExpertSpread::stack ? 0 : plan.pipeline},
      [&] { return activation_model(job); });
  const std::vector<HeavyStage>& heavy = parts_->heavy.get(
      {plan.pipeline, plan.virtual_stages, static_cast<int>(plan.schedule), job.microbatches(),
       job.memory.recompute.kind == RecomputeKind::full ? again.way : 0},
      [&] { return memory_detail::heavy_stages(job, layout); });
  return need_by_sums(job, layout, activations, heavy, [&](const StageContext& context) {
    const int ends = 4 * flag(context.ends.prediction) + 2 * flag(context.ends.embedding) +
                     flag(context.ends.output);
    AxisKey<state_axes> key{
        plan.tensor, plan.context,       plan.pipeline, plan.data,
        plan.expert, plan.expert_tensor, plan.zero,     static_cast<int>(job.memory.offload),
        ends};
    std::ranges::copy(context.layers, key.end() - layer_forms);
    return parts_->states.get(key, [&] { return states_of_stage(context); });
  });
}

}  // namespace foretrain
