// SPDX-License-Identifier: Apache-2.0

#include "models/memory/memory.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "models/base/memo.hpp"
#include "models/base/require.hpp"
#include "models/inputs/recipe.hpp"
#include "models/layers/parameters.hpp"
#include "models/layers/vision_tower.hpp"
#include "models/memory/internal/memory_context.hpp"

namespace foretrain {
namespace {

void add_rows(const MemoryBytes& rows, StageMemory& memory) {
  std::array<double, memory_categories> sums{};
  for (std::size_t i = 0; i < memory_items; ++i) {
    if (rows.of[i] <= 0.0) continue;
    const MemoryItemInfo& info = memory_item_info(static_cast<MemoryItem>(i));
    sums[static_cast<std::size_t>(info.category)] += rows.of[i];
    memory.rows.push_back({std::string(info.name), std::string(memory_category_name(info.category)),
                           Bytes{rows.of[i]}});
  }
  const auto sum = [&](MemoryCategory category) {
    return Bytes{sums[static_cast<std::size_t>(category)]};
  };
  memory.weights += sum(MemoryCategory::weights);
  memory.gradients += sum(MemoryCategory::gradients);
  memory.optimizer += sum(MemoryCategory::optimizer);
  memory.activations += sum(MemoryCategory::activations);
  memory.buffers += sum(MemoryCategory::buffers);
  memory.communication += sum(MemoryCategory::communication);
  memory.context += sum(MemoryCategory::context);
  memory.fragmentation += sum(MemoryCategory::fragmentation);
}

StageMemory to_stage_memory(const StageAccount& account) {
  StageMemory memory;
  memory.stage = account.stage;
  memory.layers = account.layers;
  memory.phase = std::string(name_of(account.peak_phase));
  add_rows(account.at(account.peak_phase), memory);
  add_rows(account.outside, memory);
  const Bytes paged{account.outside[MemoryItem::dense_optimizer]};
  memory.allocated = memory.weights + memory.gradients + memory.optimizer - paged +
                     memory.activations + memory.buffers;
  memory.counted = Bytes{account.counted};
  memory.resident = Bytes{account.resident};
  memory.reserved = memory.allocated + memory.fragmentation;  // by the allocator
  memory.host = Bytes{account.host};
  memory.to_host = Bytes{account.to_host};
  memory.to_device = Bytes{account.to_device};
  memory.peak = Bytes{account.device};
  return memory;
}

// Errors of runs outside of what stacks were fitted on: calibration/docs/memory.md, "Bands by
// kind".
constexpr MemoryDoubt hybrid{0.21, "few hybrids were measured, and those were up to 21 % off"};
constexpr MemoryDoubt graphs{
    0.12, "pools of CUDA graphs were up to 24 GiB off: what a capture holds on to depends on it"};
constexpr MemoryDoubt narrow_base{
    0.1, "packed bases were 4 to 10 % off: what unpacking holds is not known"};
constexpr MemoryDoubt kin{0.3, "no run of this framework was measured, its nearest kin's were"};

}  // namespace

MemoryForecast forecast_memory(const Job& job, const StageLayout& layout) {
  const ActivationModel activations = activation_model(job);
  const JobLivePasses live{job};
  MemoryForecast forecast;
  forecast.capacity = job.cluster.host.device.memory;
  forecast.usable = job.cluster.host.device.usable_memory;
  for (int stage = 0; stage < layout.stages(); ++stage) {
    const StageAccount account =
        memory_detail::account(memory_detail::make_context(job, layout, activations, stage), live);
    forecast.stages.push_back(to_stage_memory(account));
    forecast.high = max(forecast.high, Bytes{account.high});
    forecast.low = max(forecast.low, Bytes{account.low});
    if (forecast.stages.back().peak > forecast.peak) {
      forecast.peak = forecast.stages.back().peak;
      forecast.peak_stage = stage;
    }
  }
  if (job.parallel.single_process())
    forecast.replica = to_stage_memory(account_replica(job, layout, activations));
  return forecast;
}

MemoryNeed memory_need(const Job& job, const StageLayout& layout) {
  return MemoryNeeds::alone(job, layout);
}

Bytes peak_memory(const Job& job, const StageLayout& layout) {
  return memory_need(job, layout).peak;
}

Bytes checkpoint_size(const Job& job) {
  // 16-bit weights, fp32 master and two moments: 2 + 12 bytes (BigScience chronicles: 2.3 TB for
  // 176B).
  const auto embedding = static_cast<double>(embedding_parameters(job.model, job.vocabulary()));
  const auto head = static_cast<double>(head_parameters(job.model, job.vocabulary()));
  const auto published = static_cast<double>(parameters(job.model));
  const auto unpadded = static_cast<double>(embedding_parameters(job.model, job.model.vocabulary) +
                                            head_parameters(job.model, job.model.vocabulary));
  const double count = published - unpadded + embedding + head +
                       static_cast<double>(mtp_parameters(job.model)) + rank_tower(job);
  const bool full =
      job.training.precision == Precision::fp32 || job.training.precision == Precision::tf32;
  return Bytes{count * (full ? 12.0 : 14.0)};
}

std::vector<MemoryDoubt> memory_doubts(const Job& job) {
  std::vector<MemoryDoubt> doubts;
  if (job.model.is_hybrid()) doubts.push_back(hybrid);
  if (job.training.cuda_graphs.any()) doubts.push_back(graphs);
  if (job.fine_tuning.packs_frozen()) doubts.push_back(narrow_base);
  if (job.stack.bands && job.stack.provenance.trust == Trust::datasheet) doubts.push_back(kin);
  return doubts;
}

double memory_band(const Job& job) {
  double band = job.stack.memory.band;
  for (const MemoryDoubt& doubt : memory_doubts(job)) band = std::hypot(band, doubt.share);
  return band;
}

double reserved_band(const Job& job) {
  return std::hypot(memory_band(job), job.stack.memory.reserved_band);
}

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
