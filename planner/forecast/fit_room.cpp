// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "models/rules/plan_rules.hpp"
#include "planner/forecast/fit.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
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
