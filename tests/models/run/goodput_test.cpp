// SPDX-License-Identifier: Apache-2.0
#include "models/run/goodput.hpp"

#include <catch2/catch.hpp>

#include <cmath>

#include "tests/models/run/example_run.hpp"

using namespace foretrain;

namespace {

double goodput_share(const RunModel& model) { return model.ideal / expect_run(model).total(); }

}  // namespace

TEST_CASE("ettr: Meta's formula at one worked point", "[models][run]") {
  // arXiv 2410.21680: (1 - (u0 + dt/2)/M) / (1 + w/dt) with M 3 h, u0 6 min, dt 30 min, w 18 s
  const double value = ettr({3.0 * hours, 6.0 * minutes, 30.0 * minutes, Seconds{18.0}});
  CHECK(value == Approx((1.0 - 21.0 / 180.0) / 1.01));
}

TEST_CASE("ettr: an interruption that costs more than the time between two leaves nothing",
          "[models][run]") {
  CHECK(ettr({1.0 * hours, 50.0 * minutes, 30.0 * minutes, Seconds{}}) == 0.0);
}

TEST_CASE("intervals: Young's and Daly's formulas at a worked point", "[models][run]") {
  // stall 60 s, M 3.1 h = 11160 s: sqrt(2 * 60 * 11160) = 1157.2 s; Daly adds
  // 1 + sqrt(60/22320)/3 + 60/22320/9 and takes off the stall.
  CHECK(young_interval(Seconds{60.0}, 3.1 * hours).value() == Approx(std::sqrt(1339200.0)));
  const double ratio = 60.0 / 22320.0;
  CHECK(daly_interval(Seconds{60.0}, 3.1 * hours).value() ==
        Approx(std::sqrt(1339200.0) * (1.0 + std::sqrt(ratio) / 3.0 + ratio / 9.0) - 60.0));
  CHECK(daly_interval(3.0 * hours, 1.0 * hours) == 1.0 * hours);
}

TEST_CASE("Erlang's loss formula at textbook points", "[models][run]") {
  CHECK(erlang_loss(1, 1.0) == Approx(0.5));
  CHECK(erlang_loss(2, 1.0) == Approx(0.2));
  CHECK(erlang_loss(5, 3.0) == Approx(0.11005).epsilon(1e-4));  // 3^5/5! over the sum to 5
  CHECK(erlang_loss(3, 0.0) == 0.0);
  CHECK(erlang_loss(0, 0.4) == 1.0);
}

TEST_CASE("expected run: without interruptions only checkpoints cost", "[models][run]") {
  RunModel model = test::interrupted_run();
  model.between = Seconds{};
  const RunSplit split = expect_run(model);
  CHECK(split.total() / model.ideal == Approx(1.01));
  CHECK(split.checkpoints / model.ideal == Approx(0.01));
  CHECK(split.lost == Seconds{});
  CHECK(split.restart == Seconds{});
}

TEST_CASE("expected run: Daly's complete model, and rows that add up to it", "[models][run]") {
  // FGCS 22(3) equation 20: T = M e^(R/M) (e^((tau + delta)/M) - 1) Ts / tau
  const RunModel model = test::interrupted_run();
  const double m = model.between.value();
  const double daly =
      m * std::exp(360.0 / m) * std::expm1(1818.0 / m) * model.ideal.value() / 1800.0;
  const RunSplit split = expect_run(model);
  CHECK(split.total().value() == Approx(daly));
  CHECK(split.steps == model.ideal);
  CHECK(split.detection / (split.detection + split.restart) == Approx(1.0 / 6.0));
}

TEST_CASE("expected run: rare interruptions agree with Meta's first-order formula",
          "[models][run]") {
  RunModel model = test::interrupted_run();
  for (const double between_hours : {30.0, 100.0, 300.0}) {
    model.between = between_hours * hours;
    const double first_order = ettr({model.between, model.recovery(), model.every, model.stall});
    CHECK(goodput_share(model) == Approx(first_order).epsilon(2e-3));
  }
}

TEST_CASE("expected run: whatever gets worse costs time", "[models][run][property]") {
  const double base = goodput_share(test::interrupted_run());
  const auto worse = [base](auto change) {
    RunModel model = test::interrupted_run();
    change(model);
    CHECK(goodput_share(model) < base);
  };
  worse([](RunModel& m) { m.between = 2.0 * hours; });
  worse([](RunModel& m) { m.reload = 10.0 * minutes; });
  worse([](RunModel& m) { m.stall = Seconds{60.0}; });
  worse([](RunModel& m) { m.lag = 5.0 * minutes; });
  worse([](RunModel& m) { m.evaluation = 0.01; });
  worse([](RunModel& m) {
    m.planned_every = 1.0 * days;
    m.planned_pause = 20.0 * minutes;
  });
  worse([](RunModel& m) {
    m.slow_every = 2.0 * days;
    m.slow_pace = 0.8;
    m.slow_lasts = 72.0 * minutes;
  });
  worse([](RunModel& m) {
    m.preempted_every = 1.0 * days;
    m.preempted_wait = 10.0 * minutes;
  });
  worse([](RunModel& m) {
    m.spares = 2;
    m.repair = 12.0 * hours;
  });
  worse([](RunModel& m) { m.queue = 5.0 * hours; });
}

TEST_CASE("expected run: a straggler's episodes hold everybody back while they last",
          "[models][run]") {
  RunModel model;
  model.ideal = 10.0 * days;
  model.every = 1.0 * hours;
  model.slow_every = 1.0 * days;
  model.slow_lasts = 2.4 * hours;  // load 0.1: some episode is on 1 - e^-0.1 of the time
  model.slow_pace = 0.5;
  const double on = 1.0 - std::exp(-0.1);
  CHECK(model.ideal / expect_run(model).total() == Approx(1.0 - 0.5 * on));
}

TEST_CASE("expected run: parts that are out slow the job by how many they are", "[models][run]") {
  RunModel model;
  model.ideal = 10.0 * days;
  model.every = 1.0 * hours;
  model.degraded = {{1.0 * days, 2.4 * hours, {0.9, 0.7}}};  // 0.1 out on average
  // None e^-0.1, one 0.1 e^-0.1, more the rest.
  const double none = 0.904837, one = 0.0904837;
  const double mean = none + 0.9 * one + 0.7 * (1.0 - none - one);
  CHECK(model.degraded[0].mean_pace() == Approx(mean).epsilon(1e-6));
  CHECK(model.ideal / expect_run(model).total() == Approx(mean).epsilon(1e-6));
  CHECK(expect_run(model).slow / model.ideal == Approx(1.0 / mean - 1.0).epsilon(1e-4));
  // Kinds of parts fail each by itself.
  model.degraded.push_back(model.degraded[0]);
  CHECK(model.ideal / expect_run(model).total() == Approx(mean * mean).epsilon(1e-6));
}

TEST_CASE("expected run: waiting for repairs follows Erlang's formula", "[models][run]") {
  RunModel model = test::interrupted_run();
  const double without = expect_run(model).total().value();
  model.spares = 9;
  model.repair = 1.0 * days;  // 8 hosts in repair on average
  const RunSplit split = expect_run(model);
  CHECK(without / split.total().value() == Approx(1.0 - erlang_loss(10, 8.0)));
  CHECK(split.waiting / split.total() == Approx(erlang_loss(10, 8.0)));
}

TEST_CASE("expected run: no progress is an infinite run, not a wrong number", "[models][run]") {
  RunModel model = test::interrupted_run();
  model.every = 3000.0 * hours;
  model.ideal = 6000.0 * hours;
  CHECK_FALSE(is_finite(expect_run(model).total()));
}

TEST_CASE("best interval: near Young's and Daly's, and never worse than them", "[models][run]") {
  RunModel model = test::interrupted_run();
  const Seconds best = best_interval(model, Seconds{1.0});
  const Seconds daly = daly_interval(model.stall, model.between);
  CHECK(best.value() == Approx(daly.value()).epsilon(0.01));
  model.every = best;
  const double share_best = goodput_share(model);
  model.every = daly;
  CHECK(share_best >= goodput_share(model));
  model.every = young_interval(model.stall, model.between);
  CHECK(share_best >= goodput_share(model));
}

TEST_CASE("best interval: not below what the writer can keep up with", "[models][run]") {
  RunModel model = test::interrupted_run();
  model.stall = Seconds{};
  model.lag = 4.0 * minutes;
  CHECK(best_interval(model, model.lag).value() == Approx(240.0).epsilon(1e-3));
}
