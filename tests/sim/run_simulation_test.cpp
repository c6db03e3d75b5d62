// SPDX-License-Identifier: Apache-2.0
#include "sim/lives/run_simulation.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <chrono>
#include <cmath>

#include "tests/models/run/example_run.hpp"

using namespace foretrain;

namespace {

/// Interrupted every 3 h, 8 min to come back, checkpoints every half hour.
RunModel example() {
  RunModel model = test::interrupted_run();
  model.detection = 2.0 * minutes;
  model.reschedule = {};
  model.reload = 6.0 * minutes;
  return model;
}

RunSpread spread_of(const RunModel& model, int trials = 400, int threads = 1) {
  RunSpreadOptions options;
  options.trials = trials;
  options.threads = threads;
  return simulate_runs(model, options).value();
}

/// The simulation against the closed form.
void agree(const RunModel& model, double tolerance) {
  const RunSpread spread = spread_of(model);
  CHECK(spread.mean / expect_run(model).total() == Approx(1.0).epsilon(tolerance));
}

/// Checkpoint by checkpoint, the plain way, for one trial without stragglers or lag.
double plain_duration(const RunModel& model, const std::vector<RunStop>& stops) {
  const double every = model.every.value();
  double work = 0.0;
  double now = 0.0;
  for (const RunStop& stop : stops) {
    const double length = stop.from.value() - now;
    work += every * std::floor(length / (every + model.stall.value()) + 1e-9);
    now = stop.to.value();
  }
  const double rest = model.ideal.value() - work;
  return now + rest + model.stall.value() * (std::ceil(rest / every) - 1.0);
}

}  // namespace

TEST_CASE("run simulation: nothing happens to a job that nothing happens to", "[sim][run]") {
  RunModel model = example();
  model.between = Seconds{};
  const RunTrial trial = simulate_run(model, 1, true);
  CHECK(trial.stops.empty());
  CHECK(trial.split.steps == model.ideal);
  CHECK(trial.split.lost == Seconds{});
  // 1440 half hours; the last one needs no checkpoint
  CHECK(trial.split.checkpoints.value() == Approx(1439 * 18.0));
  CHECK(trial.checkpoints == 1439.0);
}

TEST_CASE("run simulation: skipping over checkpoints is the same as taking each", "[sim][run]") {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    const RunModel model = example();
    const RunTrial trial = simulate_run(model, seed, true);
    CHECK(trial.split.total().value() == Approx(plain_duration(model, trial.stops)));
    CHECK(trial.split.steps.value() == Approx(model.ideal.value()));
  }
}

TEST_CASE("run simulation: agrees with Daly's model of interrupted recovery", "[sim][run]") {
  RunModel model = example();
  agree(model, 0.005);
  model.between = 1.0 * hours;  // far from first order: goodput below two thirds
  agree(model, 0.01);
  model.stall = Seconds{180.0};
  agree(model, 0.01);
}

TEST_CASE("run simulation: agrees with the closed form of every other process", "[sim][run]") {
  const auto with = [](auto change, double tolerance) {
    RunModel model = example();
    model.ideal = 100.0 * days;
    change(model);
    agree(model, tolerance);
  };
  with([](RunModel& m) { m.lag = 10.0 * minutes; }, 0.01);
  with([](RunModel& m) { m.evaluation = 0.02; }, 0.005);
  with([](RunModel& m) { m.warm_up = 3.0 * minutes; }, 0.005);
  with(
      [](RunModel& m) {
        m.spares = 4;
        m.repair = 12.0 * hours;
      },
      0.02);
  with(
      [](RunModel& m) {
        m.spares = 4;
        m.repair = 24.0 * hours;
        m.spare_share = 0.5;
      },
      0.02);
  with(
      [](RunModel& m) {
        m.between = 1.0 * days;
        m.slow_every = 12.0 * hours;
        m.slow_lasts = 2.0 * hours;
        m.slow_pace = 0.6;
      },
      0.01);
  with(
      [](RunModel& m) {
        m.between = 1.0 * days;
        m.degraded = {{6.0 * hours, 5.0 * hours, {0.9, 0.7, 0.4}}, {2.0 * days, 1.0 * days, {0.8}}};
      },
      0.01);
  with(
      [](RunModel& m) {
        m.between = 1.0 * days;
        m.planned_every = 12.0 * hours;
        m.planned_pause = 30.0 * minutes;
      },
      0.01);
  with(
      [](RunModel& m) {
        m.between = 1.0 * days;
        m.preempted_every = 8.0 * hours;
        m.preempted_wait = 45.0 * minutes;
      },
      0.02);
  with(
      [](RunModel& m) {
        m.between = 1.0 * days;
        m.preempted_every = 8.0 * hours;
        m.preempted_wait = 45.0 * minutes;
        m.preempted_warned = true;
      },
      0.02);
}

TEST_CASE("run simulation: rows sum to the duration and stops do not overlap", "[sim][run]") {
  RunModel model = example();
  model.lag = 5.0 * minutes;
  model.spares = 2;
  model.repair = 6.0 * hours;
  model.slow_every = 1.0 * days;
  model.slow_lasts = 1.0 * hours;
  model.slow_pace = 0.8;
  model.slow_restart = true;
  model.degraded = {{12.0 * hours, 3.0 * hours, {0.9, 0.8}}};
  model.planned_every = 1.0 * days;
  model.planned_pause = 20.0 * minutes;
  model.queue = 4.0 * hours;
  const RunTrial trial = simulate_run(model, 7, true);
  double standing = 0.0;
  Seconds last;
  Seconds lost;
  for (const RunStop& stop : trial.stops) {
    CHECK(stop.from >= last);
    CHECK(stop.to > stop.from);
    last = stop.to;
    lost += stop.lost;
    standing += (stop.to - stop.from).value();
  }
  const RunSplit& split = trial.split;
  CHECK(lost.value() == Approx(split.lost.value()));
  const Seconds down = split.detection + split.restart + split.planned + split.waiting;
  CHECK(standing == Approx(down.value()));
  CHECK(trial.stops.front().kind == StopKind::start);
  CHECK(trial.stops.front().to >= 4.0 * hours);
  CHECK(split.total() - down > model.ideal);
}

TEST_CASE("run simulation: the closed form's best interval is the simulation's", "[sim][run]") {
  RunModel model = example();
  model.stall = Seconds{60.0};
  model.ideal = 100.0 * days;
  const Seconds best = best_interval(model, Seconds{1.0});
  model.every = best;
  const double at_best = spread_of(model).mean.value();
  for (const double factor : {0.5, 2.0}) {
    model.every = factor * best;
    CHECK(spread_of(model).mean.value() > at_best);
  }
}

TEST_CASE("run simulation: a recorded trace keeps its mean distance and its downtimes",
          "[sim][run]") {
  RunModel model = example();
  model.between = Seconds{};
  double at = 0.0;
  for (int i = 0; i < 40; ++i) {  // gaps as an exponential distribution has them
    at -= 3.0 * std::log((i + 0.5) / 40.0);
    model.trace.push_back({at * hours, 8.0 * minutes});
  }
  agree(model, 0.02);
  const RunTrial trial = simulate_run(model, 3, true);
  for (const RunStop& stop : trial.stops)
    if (stop.interruptions == 1) CHECK((stop.to - stop.from).value() == Approx(8.0 * 60.0));
}

TEST_CASE("run simulation: a run that cannot progress ends the simulation, not the machine",
          "[sim][run]") {
  RunModel model = example();
  model.between = 5.0 * minutes;
  model.every = 3.0 * hours;
  CHECK_FALSE(is_finite(simulate_run(model, 1).split.total()));
}

namespace {

constexpr std::array<Seconds RunSplit::*, 9> parts{
    &RunSplit::steps,   &RunSplit::evaluation, &RunSplit::checkpoints,
    &RunSplit::slow,    &RunSplit::lost,       &RunSplit::detection,
    &RunSplit::restart, &RunSplit::planned,    &RunSplit::waiting};

}  // namespace

TEST_CASE("run simulation: the same seed gives the same bytes on one and two threads",
          "[sim][run]") {
  RunModel model = example();
  model.spares = 4;
  model.repair = 12.0 * hours;
  const RunSpread one = spread_of(model, 64, 1);
  const RunSpread two = spread_of(model, 64, 2);
  for (const auto part : parts) CHECK(one.split.*part == two.split.*part);
  CHECK(one.p10 == two.p10);
  CHECK(one.p50 == two.p50);
  CHECK(one.p90 == two.p90);
  CHECK(one.p10 < one.p50);
  CHECK(one.p50 < one.p90);
}

TEST_CASE("run simulation: doubt about the step time shows in the percentiles", "[sim][run]") {
  RunModel model = example();
  model.between = Seconds{};
  RunSpreadOptions options;
  options.trials = 4000;
  options.step_low = 0.95;
  options.step_high = 1.10;
  options.deadline = 1.02 * model.ideal;
  const RunSpread spread = simulate_runs(model, options).value();
  const double stalls = 1.0 + 18.0 / 1800.0;
  CHECK(spread.p10 / (0.95 * stalls * model.ideal) == Approx(1.0).epsilon(0.005));
  CHECK(spread.p90 / (1.10 * stalls * model.ideal) == Approx(1.0).epsilon(0.01));
  CHECK(*spread.meets_deadline == Approx(0.55).margin(0.05));
}

TEST_CASE("run simulation: twelve months of a job take milliseconds", "[sim][run]") {
  // Checkpoints every 10 s, interruptions every hour: 3 million checkpoints, 8,760 interruptions.
  RunModel model = example();
  model.ideal = 365.0 * days;
  model.between = 1.0 * hours;
  model.every = Seconds{10.0};
  model.stall = Seconds{0.1};
  const auto begin = std::chrono::steady_clock::now();
  const RunTrial trial = simulate_run(model, 1);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(trial.split.steps.value() == Approx(model.ideal.value()));
  CHECK(trial.checkpoints > 3e6);
  CHECK(took.count() < 1.0);  // about 2 ms; the limit asked for is 10 s
}

namespace {

/// Everything that can go wrong, at odd distances.
RunModel unlucky(int number) {
  const double odd = 1.0 + 0.137 * number;
  RunModel model = example();
  model.ideal = odd * 10.0 * days;
  model.between = (0.5 + odd) * hours;
  model.evaluation = number % 2 == 0 ? 0.0 : 0.013 * odd;
  model.lag = number % 3 == 0 ? Seconds{} : odd * minutes;
  model.slow_every = number % 2 == 0 ? Seconds{} : odd * 3.0 * hours;
  model.slow_lasts = odd * hours;
  model.slow_pace = 1.0 / odd;
  model.slow_restart = number % 4 == 1;
  model.planned_every = odd * 1.0 * days;
  model.planned_pause = odd * 10.0 * minutes;
  model.preempted_every = number % 5 == 0 ? Seconds{} : odd * 9.0 * hours;
  model.preempted_wait = odd * 20.0 * minutes;
  model.preempted_warned = number % 2 == 1;
  model.spares = number % 3;
  model.repair = odd * 5.0 * hours;
  model.queue = number % 2 == 0 ? Seconds{} : odd * hours;
  return model;
}

}  // namespace

TEST_CASE("run simulation: no part of a run is negative, no share leaves 0 to 1",
          "[sim][run][property]") {
  for (int number = 0; number < 24; ++number) {
    CAPTURE(number);
    const RunModel model = unlucky(number);
    RunSpreadOptions options;
    options.trials = 37;  // whose reciprocal adds up to more than 1
    options.step_low = 0.9;
    options.step_high = 1.1;
    options.deadline = Seconds{1e12};
    const RunSpread spread = simulate_runs(model, options).value();
    const RunTrial trial = simulate_run(model, static_cast<std::uint64_t>(number), true);
    const RunSplit expected = expect_run(model);
    for (const auto part : parts) {
      CHECK(spread.split.*part >= Seconds{});
      CHECK(trial.split.*part >= Seconds{});
      CHECK(expected.*part >= Seconds{});
    }
    CHECK(spread.meets_deadline == 1.0);
    CHECK(spread.goodput_p10 > 0.0);
    CHECK(spread.goodput_p10 <= spread.goodput_p90);
    CHECK(spread.goodput_p90 <= 1.0);
    CHECK(trial.split.steps.value() == Approx(model.ideal.value()));
  }
}

TEST_CASE("run simulation: steps that are faster than forecast make no goodput above 1",
          "[sim][run]") {
  RunModel model = example();
  model.between = Seconds{};
  model.stall = Seconds{};
  RunSpreadOptions options;
  options.step_low = 0.9;
  options.step_high = 1.1;
  const RunSpread spread = simulate_runs(model, options).value();
  CHECK(spread.p10 < model.ideal);
  CHECK(spread.goodput_p10 == Approx(1.0));
  CHECK(spread.goodput_p90 <= 1.0);
}

TEST_CASE("run simulation: a run of too many events is refused, not simulated for hours",
          "[sim][run]") {
  RunModel model = example();
  model.slow_every = Seconds{0.5};  // five million stragglers in thirty days
  model.slow_lasts = Seconds{0.1};
  model.slow_pace = 0.9;
  CHECK_FALSE(simulate_run(model, 1).complete);
  CHECK_FALSE(simulate_runs(model, {}).has_value());
  model.slow_every = 10.0 * minutes;
  CHECK(simulate_run(model, 1).complete);
}

TEST_CASE("run simulation: it stops when it is told to, with what it has", "[sim][run]") {
  RunSpreadOptions options;
  const std::atomic<bool> stop{true};
  options.stop = &stop;
  CHECK_FALSE(simulate_runs(example(), options).has_value());
  const std::atomic<bool> go_on{false};
  options.stop = &go_on;
  CHECK(simulate_runs(example(), options).value().trials == options.trials);
}
