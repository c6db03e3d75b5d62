// SPDX-License-Identifier: Apache-2.0
#include "models/run/goodput.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double rate_of(Seconds every) { return every > Seconds{} ? 1.0 / every.value() : 0.0; }

/// Mean time between interruptions of a record, and what they cost where it says so.
struct TraceMeans {
  Seconds gap;
  Seconds down;
};

TraceMeans means_of(const RunModel& model) {
  Seconds down;
  for (const Outage& outage : model.trace) down += outage.down.value_or(model.recovery());
  const auto count = static_cast<double>(model.trace.size());
  return {model.trace.back().at / count, down / count};
}

/// Everything that loses the work since the last checkpoint, as one process.
struct Losses {
  double failures = 0.0;     ///< per second
  double preemptions = 0.0;  ///< per second, those without warning
  Seconds recovery;          ///< of a failure
  Seconds comeback;          ///< of a preemption

  [[nodiscard]] double rate() const { return failures + preemptions; }
  [[nodiscard]] Seconds mean() const {
    return rate() == 0.0 ? Seconds{} : (failures * recovery + preemptions * comeback) / rate();
  }
};

Losses losses_of(const RunModel& model) {
  Losses losses;
  losses.recovery = model.recovery();
  if (model.trace.empty()) {
    losses.failures = rate_of(model.between);
  } else {
    const TraceMeans means = means_of(model);
    losses.failures = rate_of(means.gap);
    losses.recovery = means.down;
  }
  if (!model.preempted_warned) losses.preemptions = rate_of(model.preempted_every);
  losses.comeback = model.preempted_wait + model.reload + model.warm_up;
  return losses;
}

/// (e^x - 1) / x for x >= 0, and its limit: at least 1, whatever the rounding.
double growth(double x) { return x == 0.0 ? 1.0 : std::max(1.0, std::expm1(x) / x); }

/// Time that passes from one step to the next beyond interruptions.
struct Pace {
  double evaluation;  ///< per time of steps
  double slow;        ///< per time of steps
};

Pace pace_of(const RunModel& model) {
  // Episodes start whether or not one is on already: 1 - e^-load is the share of time with any.
  const double load = rate_of(model.slow_every) * model.slow_lasts.value();
  double mean = 1.0 - (1.0 - model.slow_pace) * -std::expm1(-load);
  for (const Degradation& parts : model.degraded) mean *= parts.mean_pace();
  const double busy = 1.0 + model.evaluation;
  return {model.evaluation, std::max(0.0, busy / mean - busy)};
}

/// Announced stops: what they cost per second of the run.
struct CalmStops {
  double planned = 0.0;  ///< checkpoint and pause
  double waiting = 0.0;  ///< for preempted capacity
  double restart = 0.0;

  [[nodiscard]] double total() const { return planned + waiting + restart; }
};

CalmStops calm_stops(const RunModel& model) {
  const double back = (model.reload + model.warm_up).value();
  const double save = model.save().value();
  CalmStops stops;
  stops.planned = rate_of(model.planned_every) * (save + model.planned_pause.value());
  stops.restart = rate_of(model.planned_every) * back;
  if (model.slow_restart) {
    stops.planned += rate_of(model.slow_every) * save;
    stops.restart += rate_of(model.slow_every) * (model.reschedule.value() + back);
  }
  if (model.preempted_warned) {
    stops.waiting = rate_of(model.preempted_every) * (save + model.preempted_wait.value());
    stops.restart += rate_of(model.preempted_every) * back;
  }
  return stops;
}

/// Hosts in repair are a loss system: the job stops, and nothing more fails, once one more is out
/// than there are spares.
double waits_for_repair(const RunModel& model, double failures) {
  if (model.spares < 0) return 0.0;
  return erlang_loss(model.spares + 1, failures * model.spare_share * model.repair.value());
}

void fill_recoveries(const RunModel& model, const Losses& losses, Seconds total, RunSplit& split) {
  if (losses.rate() == 0.0 || losses.mean() == Seconds{}) return;
  const Seconds per_loss = losses.mean();
  const double of_failures = losses.failures / losses.rate();
  const double scale = total / per_loss;
  // A record's own downtimes are told apart as the scenario's recovery is; all of them are restarts
  // where it says nothing.
  const Seconds known = model.recovery();
  const double detection = known > Seconds{} ? std::min(1.0, model.detection / known) : 0.0;
  const Seconds failure = of_failures * losses.recovery;
  split.detection += scale * detection * failure;
  split.restart += scale * (1.0 - detection) * failure;
  split.waiting += scale * (1.0 - of_failures) * model.preempted_wait;
  split.restart += scale * (1.0 - of_failures) * (model.reload + model.warm_up);
}

RunSplit never_ends(RunSplit split) {
  split.lost = Seconds{infinity};
  return split;
}

}  // namespace

double Degradation::pace(int out) const {
  FORETRAIN_REQUIRE(!paces.empty() && out >= 0);
  return out == 0 ? 1.0 : paces[std::min(static_cast<std::size_t>(out), paces.size()) - 1];
}

double Degradation::mean_pace() const {
  const double load = rate_of(every) * lasts.value();
  double chance = std::exp(-load);  // of `out` parts at a time
  double mean = 0.0, below = 0.0;
  for (int out = 0; out < static_cast<int>(paces.size()); ++out) {
    mean += chance * pace(out);
    below += chance;
    chance *= load / (out + 1);
  }
  return mean + std::max(0.0, 1.0 - below) * paces.back();
}

double ettr(const Interruptions& interruptions) {
  FORETRAIN_REQUIRE(interruptions.between > Seconds{} && interruptions.every > Seconds{});
  const double lost = (interruptions.restart + interruptions.every / 2.0) / interruptions.between;
  return std::max(0.0, 1.0 - lost) / (1.0 + interruptions.stall / interruptions.every);
}

Seconds young_interval(Seconds stall, Seconds between) {
  FORETRAIN_REQUIRE(stall >= Seconds{} && between > Seconds{});
  return Seconds{std::sqrt(2.0 * stall.value() * between.value())};
}

Seconds daly_interval(Seconds stall, Seconds between) {
  FORETRAIN_REQUIRE(stall >= Seconds{} && between > Seconds{});
  if (stall >= 2.0 * between) return between;
  const double ratio = stall / (2.0 * between);
  return young_interval(stall, between) * (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) - stall;
}

double erlang_loss(int servers, double load) {
  FORETRAIN_REQUIRE(servers >= 0 && load >= 0.0);
  double blocked = 1.0;
  for (int n = 1; n <= servers && blocked > 0.0; ++n)
    blocked = load * blocked / (n + load * blocked);
  return load == 0.0 && servers > 0 ? 0.0 : blocked;
}

RunSplit expect_run(const RunModel& model) {
  FORETRAIN_REQUIRE(model.ideal > Seconds{} && model.every > Seconds{});
  const Losses losses = losses_of(model);
  const double rate = losses.rate();
  const Pace pace = pace_of(model);

  RunSplit split;
  split.steps = model.ideal;
  split.evaluation = pace.evaluation * model.ideal;
  split.slow = pace.slow * model.ideal;
  const Seconds busy = split.total();
  const double segments = busy / model.every;
  split.checkpoints = segments * model.stall;

  // Daly: a segment of w seconds is run (e^(rate w) - 1) / rate seconds until it is through; each
  // of its interruptions costs e^(rate r) as interruptions strike during recovery r again. Work
  // that is not safe yet when one strikes, for `lag` after a checkpoint, counts like recovery.
  const Seconds segment = model.every + model.stall;
  const Seconds running = segments * segment * growth(rate * segment.value());
  split.lost = max(Seconds{}, running - segments * segment);
  const Seconds repeated = losses.mean() + model.lag;
  const Seconds recoveries = running * std::expm1(rate * repeated.value());
  if (!is_finite(recoveries)) return never_ends(split);
  if (repeated > Seconds{}) {
    split.lost += recoveries * (model.lag / repeated);
    fill_recoveries(model, losses, recoveries * (losses.mean() / repeated), split);
  }

  const CalmStops calm = calm_stops(model);
  const double repairs = waits_for_repair(model, losses.failures);
  const double left = (1.0 - calm.total()) * (1.0 - repairs);
  const Seconds before = split.total();
  if (!is_finite(before) || left <= 0.0) return never_ends(split);
  const Seconds wall = before / left;
  split.planned += wall * calm.planned;
  split.restart += wall * calm.restart;
  split.waiting += wall * (calm.waiting + (1.0 - calm.total()) * repairs);
  split.waiting += model.queue;
  split.restart += model.warm_up;
  return split;
}

double expected_interruptions(const RunModel& model, const RunSplit& split) {
  const Losses losses = losses_of(model);
  return losses.rate() * (split.total() - split.waiting - split.planned).value();
}

Seconds best_interval(const RunModel& model, Seconds least) {
  FORETRAIN_REQUIRE(least > Seconds{});
  const auto cost = [&model](double log_every) {
    RunModel trial = model;
    trial.every = Seconds{std::exp(log_every)};
    return expect_run(trial).total().value();
  };
  // The cost falls, then rises with the interval: golden section on its logarithm.
  const double golden = (std::sqrt(5.0) - 1.0) / 2.0;
  double low = std::log(least.value());
  double high = std::max(low, std::log(model.ideal.value()));
  double a = high - golden * (high - low);
  double b = low + golden * (high - low);
  double cost_a = cost(a);
  double cost_b = cost(b);
  while (high - low > 1e-6) {
    // Infinite on both sides means too long.
    if (cost_a <= cost_b) {
      high = b;
      b = a;
      cost_b = cost_a;
      a = high - golden * (high - low);
      cost_a = cost(a);
    } else {
      low = a;
      a = b;
      cost_a = cost_b;
      b = low + golden * (high - low);
      cost_b = cost(b);
    }
  }
  return Seconds{std::exp((low + high) / 2.0)};
}

Seconds affordable_interruption(Seconds between, double goodput) {
  FORETRAIN_REQUIRE(between > Seconds{} && goodput > 0.0 && goodput <= 1.0);
  return between * (1.0 - goodput);
}

}  // namespace foretrain
