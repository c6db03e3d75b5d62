// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "models/grid/stage_layout.hpp"
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

  [[nodiscard]] Job at(int value) const {
    Job changed = job;
    set(changed, value);
    return changed;
  }
};

/// What a value of a knob comes to.
struct Trial {
  std::vector<Infeasible> broken;
  Bytes peak;                    ///< of legal values
  std::optional<Excess> excess;  ///< of legal values: the memory limit that is broken
  bool fits = false;             ///< legal, and within the limits
  bool runs = false;             ///< legal, and within all the memory
};

Trial tried(const Knob& knob, int value) {
  const Job job = knob.at(value);
  Trial trial{broken_rules(job), {}, {}, false, false};
  if (!trial.broken.empty()) return trial;
  const MemoryNeed need = memory_need(job, stage_layout(job.model, job.parallel));
  trial.peak = need.peak;
  trial.excess = memory_excess(knob.limits, job.cluster.host.device, need);
  trial.fits = !trial.excess;
  trial.runs = need.peak <= job.cluster.host.device.usable_memory;
  return trial;
}

void accept(Room& room, const Knob& knob, int value) {
  room.largest = value;
  room.peak = tried(knob, value).peak;
}

/// Says what stops the growth at `next`, the first value that was refused.
void bounded_by(Room& room, const Knob& knob, int next) {
  const Trial trial = tried(knob, next);
  if (!trial.broken.empty()) {
    room.bound = RoomBound::rule;
    room.rule = trial.broken.front().rule;
    room.why = trial.broken.front().message;
    return;
  }
  room.bound = RoomBound::memory;
  if (!trial.excess || next <= room.largest.value_or(0)) {
    room.why =
        fmt::format("{}, as it is, leaves less free than it should", with_thousands(room.now));
    return;
  }
  const Bytes usable = knob.job.cluster.host.device.usable_memory;
  const Bytes allowed = knob.limits.memory_of(knob.job.cluster.host.device);
  if (trial.peak > allowed)
    room.why = fmt::format("{} would need {} more than {}", with_thousands(next),
                           bytes_text(trial.peak - (trial.runs ? allowed : usable)),
                           trial.runs ? "leaves enough free" : "is usable");
  else
    room.why = fmt::format("{} would not fit at the upper end of the memory band: {}",
                           with_thousands(next), trial.excess->message);
}

/// The largest multiple of `unit` that is legal and fits, by doubling and halving; 0 when not even
/// `unit` is. @pre what fits at a value fits at every smaller multiple
int largest_multiple(const Knob& knob, int unit, int limit) {
  const auto good = [&](int times) { return tried(knob, times * unit).fits; };
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
  if (room.largest.value_or(0) < room.now && tried(knob, room.now).runs)
    accept(room, knob, room.now);
}

}  // namespace

Room room_of_micro_batch(const Job& job, const SearchLimits& limits) {
  Room room{"training.micro_batch", job.training.micro_batch, {}, {}, {}, {}, {}};
  const Knob knob{job, limits, [](Job& j, int value) { j.training.micro_batch = value; }};
  // Few divisors: all are looked at, so that nothing needs to be assumed about their order.
  const int replica = std::max(1, job.training.global_batch / std::max(1, job.parallel.data));
  int too_large = 0;
  for (int value = 1; value <= replica; ++value) {
    if (replica % value != 0) continue;
    const Trial trial = tried(knob, value);
    if (trial.fits) {
      room.largest = value;
      room.peak = trial.peak;
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

Room room_of_sequence(const Job& job, const SearchLimits& limits) {
  Room room{"training.sequence", job.training.sequence, {}, {}, {}, {}, {}};
  const Knob knob{job, limits, [](Job& j, int value) { j.training.sequence = value; }};
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

Room room_of_layers(const Job& job, const SearchLimits& limits) {
  Room room{"model.layers", job.model.layers, {}, {}, {}, {}, {}};
  const Knob knob{job, limits, [](Job& j, int value) { j.model.layers = value; }};
  // Memory grows from one full set of stages to the next; in between, uneven stages can need less
  // than even ones do, so these are looked at one by one.
  const int unit = job.parallel.pipeline * job.parallel.virtual_stages;
  const int full = largest_multiple(knob, unit, most_layers);
  if (full > 0) accept(room, knob, full);
  for (int more = std::min(full + unit - 1, most_layers); more > full; --more) {
    if (!tried(knob, more).fits) continue;
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

}  // namespace foretrain
