// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/fit.hpp"

#include <algorithm>

#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/answer/memory_part.hpp"

namespace foretrain {
namespace {

MemoryBand band_of(const Job& job, const MemoryForecast& memory) {
  MemoryBand band;
  band.share = memory_band(job);
  band.reserved_share = reserved_band(job);
  const auto raise = [&](ByteRange& range, Bytes low, Bytes high) {
    range = {max(range.low, low), max(range.high, high)};
  };
  ByteRange device;
  for (const StageMemory& stage : memory.stages) {
    raise(band.allocated, stage.allocated * (1.0 - band.share),
          stage.allocated * (1.0 + band.share));
    const Bytes low = device_memory(job, stage, 1.0 - band.reserved_share);
    const Bytes high = device_memory(job, stage, 1.0 + band.reserved_share);
    const Bytes outside = stage.communication + stage.context;
    raise(band.reserved, low - outside, high - outside);
    raise(device, low, high);
  }
  band.low = device.low;
  band.high = memory.high;
  return band;
}

FitVerdict verdict_of(const MemoryForecast& memory) {
  if (!memory.fits()) return FitVerdict::does_not_fit;
  return memory.fits_barely() ? FitVerdict::fits_barely : FitVerdict::fits;
}

}  // namespace

Bytes device_memory(const Job& job, const StageMemory& stage, double factor) {
  FORETRAIN_REQUIRE(factor >= 0.0);
  const Bytes outside = stage.communication + stage.context;
  return Bytes{device_bytes(job, stage.allocated.value() * factor, outside.value())};
}

StageMemory phase_memory(const StageAccount& account, MemoryPhase phase) {
  StageMemory memory;
  memory.stage = account.stage;
  memory.layers = account.layers;
  memory.phase = std::string(name_of(phase));
  const MemoryBytes& bytes = account.at(phase);
  for (std::size_t i = 0; i < memory_items; ++i) {
    if (bytes.of[i] <= 0.0) continue;
    const MemoryItemInfo& info = memory_item_info(static_cast<MemoryItem>(i));
    const std::string_view category = memory_category_name(info.category);
    memory.rows.push_back({std::string(info.name), std::string(category), Bytes{bytes.of[i]}});
    for (const MemoryPart& look : memory_parts())
      if (category == look.key) memory.*look.size += Bytes{bytes.of[i]};
    memory.allocated += Bytes{bytes.of[i]};
  }
  memory.peak = memory.allocated;
  return memory;
}

FitReport judge_fit(const Scenario& scenario, const SearchLimits& limits) {
  FitReport report;
  report.scenario = scenario;
  const Job& job = scenario.job;
  report.reasons = broken_rules(job);
  if (!report.reasons.empty()) return report;
  report.not_forecast = not_modelled(job);
  const StageLayout layout = stage_layout(job.model, job.parallel);
  report.memory = forecast_memory(job, layout);
  const ActivationModel activations = activation_model(job);
  for (int stage = 0; stage < layout.stages(); ++stage)
    report.accounts.push_back(account_stage(job, layout, activations, stage));
  if (job.parallel.single_process()) report.replica = account_replica(job, layout, activations);
  report.band = band_of(job, *report.memory);
  report.verdict = verdict_of(*report.memory);
  if (!report.memory->fits()) report.changes = changes_that_fit(scenario, limits);
  report.tried = one_at_a_time(scenario);
  report.room = {room_of_micro_batch(job, limits), room_of_sequence(job, limits),
                 room_of_layers(job, limits)};
  return report;
}

}  // namespace foretrain
