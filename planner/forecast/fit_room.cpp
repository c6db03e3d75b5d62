// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/fit_room.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <functional>
#include <numeric>

#include "models/base/require.hpp"
#include "models/grid/stage_layout.hpp"
#include "models/memory/memory.hpp"
#include "models/rules/plan_rules.hpp"
#include "planner/answer/prediction_parts.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

MemoryBand band_of(const Job& job, const MemoryForecast& memory) {
  MemoryBand band;
  band.share = memory_band(job);
  band.reserved_share = reserved_band(job);
  const auto raise = [&](ByteRange& range, Bytes low, Bytes high) {
    range = {max(range.low, low), max(range.high, high)};
  };
  for (const StageMemory& stage : memory.stages) {
    raise(band.allocated, stage.allocated * (1.0 - band.share),
          stage.allocated * (1.0 + band.share));
    const Bytes low = device_memory(job, stage, 1.0 - band.reserved_share);
    const Bytes high = device_memory(job, stage, 1.0 + band.reserved_share);
    const Bytes outside = stage.communication + stage.context;
    raise(band.reserved, low - outside, high - outside);
  }
  band.low = memory.low;
  band.high = memory.high;
  return band;
}

FitVerdict verdict_of(const MemoryForecast& memory) {
  if (memory.may_fit()) return FitVerdict::may_not_fit;
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

namespace {

constexpr int most_tokens = 1 << 24;
constexpr int most_layers = 4096;

/// One quantity of the plan that is varied, everything else equal.
struct Knob {
  const Job& job;
  const SearchLimits& limits;
  std::function<void(Job&, int)> set;
  PlanScope scope = PlanScope::run;

  [[nodiscard]] Job at(int value) const {
    Job changed = job;
    set(changed, value);
    return changed;
  }
};

PlanJudgement tried(const Knob& knob, int value) {
  return judge_plan(knob.at(value), knob.limits, knob.scope);
}

/// Whether it runs, though maybe beyond the limits.
bool runs(const Knob& knob, const PlanJudgement& plan) {
  return plan.refused.empty() && plan.need.peak <= knob.job.cluster.host.device.usable_memory;
}

void accept(Room& room, const Knob& knob, int value) {
  room.largest = value;
  room.peak = tried(knob, value).need.peak;
}

/// Says what stops the growth at `next`, the first value that was refused.
void bounded_by(Room& room, const Knob& knob, int next) {
  const PlanJudgement plan = tried(knob, next);
  if (!plan.refused.empty()) {
    room.bound = RoomBound::rule;
    room.rule = plan.refused.front().rule;
    room.why = plan.refused.front().message;
    return;
  }
  room.bound = RoomBound::memory;
  if (!plan.excess || next <= room.largest.value_or(0)) {
    room.why =
        fmt::format("{}, as it is, leaves less free than it should", with_thousands(room.now));
    return;
  }
  const Bytes usable = knob.job.cluster.host.device.usable_memory;
  const Bytes allowed = knob.limits.memory_of(knob.job.cluster.host.device);
  const Bytes peak = plan.need.peak;
  if (peak > allowed)
    room.why = fmt::format("{} would need {} more than {}", with_thousands(next),
                           bytes_text(peak - (peak <= usable ? allowed : usable)),
                           peak <= usable ? "leaves enough free" : "is usable");
  else
    room.why = fmt::format("{} would not fit at the upper end of the memory band: {}",
                           with_thousands(next), plan.excess->message);
}

/// The largest multiple of `unit` that is legal and fits, by doubling and halving; 0 when not even
/// `unit` is. @pre what fits at a value fits at every smaller multiple
int largest_multiple(const Knob& knob, int unit, int limit) {
  const auto good = [&](int times) { return tried(knob, times * unit).goes(); };
  if (!good(1)) return 0;
  const int most = limit / unit;
  int low = 1;
  int high = 2;
  while (high <= most && good(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    (good(middle) ? low : high) = middle;
  }
  return low * unit;
}

/// A plan that fits as it stands is never told less than it has.
void include_now(Room& room, const Knob& knob) {
  if (room.largest.value_or(0) < room.now && runs(knob, tried(knob, room.now)))
    accept(room, knob, room.now);
}

Room micro_batch_room(const Knob& knob) {
  const Job& job = knob.job;
  Room room{"training.micro_batch", job.training.micro_batch, {}, {}, {}, {}, {}};
  // Few divisors: all are looked at, so that nothing needs to be assumed about their order.
  const int replica = std::max(1, job.training.global_batch / std::max(1, job.parallel.data));
  int too_large = 0;
  for (int value = 1; value <= replica; ++value) {
    if (replica % value != 0) continue;
    const PlanJudgement plan = tried(knob, value);
    if (plan.goes()) {
      room.largest = value;
      room.peak = plan.need.peak;
      too_large = 0;
    } else if (too_large == 0) {
      too_large = value;
    }
  }
  include_now(room, knob);
  if (too_large > 0) {
    bounded_by(room, knob, too_large);
    return room;
  }
  room.bound = RoomBound::rule;
  room.rule = "micro-batches-divide-batch";
  room.why =
      fmt::format("a replica has no more than {} sequences per step", with_thousands(replica));
  return room;
}

Room sequence_room(const Knob& knob) {
  const Job& job = knob.job;
  Room room{"training.sequence", job.training.sequence, {}, {}, {}, {}, {}};
  const int unit = std::lcm(128, 2 * job.parallel.context * job.parallel.tensor);
  const int largest = largest_multiple(knob, unit, most_tokens);
  if (largest > 0) accept(room, knob, largest);
  include_now(room, knob);
  const int next = (room.largest.value_or(0) / unit + 1) * unit;
  if (next <= most_tokens) {
    bounded_by(room, knob, next);
    return room;
  }
  room.bound = RoomBound::search;
  room.why =
      fmt::format("longer sequences than {} tokens were not tried", with_thousands(most_tokens));
  return room;
}

Room layer_room(const Knob& knob) {
  const Job& job = knob.job;
  Room room{"model.layers", job.model.layers, {}, {}, {}, {}, {}};
  // Memory grows from one full set of stages to the next; in between, uneven stages can need less
  // than even ones do, so these are looked at one by one.
  const int unit = job.parallel.pipeline * job.parallel.virtual_stages;
  const int full = largest_multiple(knob, unit, most_layers);
  if (full > 0) accept(room, knob, full);
  for (int more = std::min(full + unit - 1, most_layers); more > full; --more) {
    if (!tried(knob, more).goes()) continue;
    accept(room, knob, more);
    break;
  }
  include_now(room, knob);
  const int next = room.largest.value_or(0) + 1;
  if (next <= most_layers) {
    bounded_by(room, knob, next);
    return room;
  }
  room.bound = RoomBound::search;
  room.why = fmt::format("more than {} layers were not tried", with_thousands(most_layers));
  return room;
}

/// Of a plan whose time is not modelled, and that nothing smaller of makes modelled, memory alone
/// is judged, and the answer says so.
Room judged_room(Knob knob, Room (*grow)(const Knob&)) {
  Room room = grow(knob);
  if (room.largest) return room;
  const auto refused = refusals(knob.job);
  if (refused.empty() || refused.front().rule != not_modelled_rule) return room;
  knob.scope = PlanScope::memory_alone;
  room = grow(knob);
  room.why += "; by memory alone, simulate refuses the plan: " + refused.front().message;
  return room;
}

}  // namespace

Room room_of_micro_batch(const Job& job, const SearchLimits& limits) {
  return judged_room({job, limits, [](Job& j, int value) { j.training.micro_batch = value; }},
                     micro_batch_room);
}

Room room_of_sequence(const Job& job, const SearchLimits& limits) {
  return judged_room({job, limits, [](Job& j, int value) { j.training.sequence = value; }},
                     sequence_room);
}

Room room_of_layers(const Job& job, const SearchLimits& limits) {
  return judged_room({job, limits, [](Job& j, int value) { j.model.layers = value; }}, layer_room);
}

}  // namespace foretrain
