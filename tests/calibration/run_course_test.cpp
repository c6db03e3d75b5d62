// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <cmath>
#include <functional>

#include "calibration/diagnosis/logged_job.hpp"
#include "calibration/diagnosis/run_course.hpp"

namespace foretrain {
namespace {

/// Steps 1 to `count`, of what `seconds` says; without stamps.
TrainingLog course_log(long count, const std::function<double(long)>& seconds) {
  TrainingLog log;
  for (long step = 1; step <= count; ++step)
    log.series.push_back({step, static_cast<float>(seconds(step)), std::nan("")});
  log.step = LoggedSteps{2.0, 2.0, 2.0, count, ""};
  return log;
}

/// Two seconds, a little more or less.
double usual(long step) { return 2.0 + 0.004 * static_cast<double>(step % 5 - 2); }

}  // namespace

TEST_CASE("course: steady steps have no stalls, drift, shift or period",
          "[calibration][diagnosis]") {
  const RunCourse course = run_course(course_log(300, usual));
  CHECK(course.spread < 0.01);
  CHECK(std::abs(course.drift) < 0.001);
  CHECK_FALSE(course.shift);
  CHECK(course.stall_count == 0);
  CHECK_FALSE(course.period);
  CHECK_FALSE(course.productive);
}

TEST_CASE("course: slow steps at equal distances have a period, also among others",
          "[calibration][diagnosis]") {
  const auto collected = [](long step) {
    return usual(step) * (step % 17 == 0 ? 1.3 : step == 100 || step == 213 ? 1.5 : 1.0);
  };
  const RunCourse course = run_course(course_log(300, collected));
  REQUIRE(course.period);
  CHECK(*course.period == Approx(17.0));
  CHECK(course.stall_count == 19);
  CHECK(course.stalled_share() == Approx(0.02).margin(0.01));
  const auto at_random = [](long step) {
    const bool slow = step == 20 || step == 31 || step == 77 || step == 140 || step == 260;
    return usual(step) * (slow ? 1.4 : 1.0);
  };
  CHECK_FALSE(run_course(course_log(300, at_random)).period);
}

TEST_CASE("course: a level that changes and stays is a shift, a drift is none",
          "[calibration][diagnosis]") {
  const RunCourse shifted =
      run_course(course_log(400, [](long step) { return usual(step) * (step > 200 ? 1.2 : 1.0); }));
  REQUIRE(shifted.shift);
  CHECK(shifted.shift->ratio == Approx(1.2).epsilon(0.01));
  CHECK(shifted.shift->step == Approx(200).margin(15));
  const RunCourse drifted = run_course(course_log(
      400, [](long step) { return usual(step) * (1.0 + 0.0005 * static_cast<double>(step)); }));
  CHECK_FALSE(drifted.shift);
  CHECK(drifted.drift > 0.1);
}

TEST_CASE("course: pauses between steps are told by stamps, and whose they are",
          "[calibration][diagnosis]") {
  TrainingLog log = course_log(100, usual);
  double now = 0.0;
  for (LoggedStep& step : log.series) {
    now += step.seconds;
    if (step.step == 51) now += 40.0;  // after step 50
    if (step.step == 81) now += 10.0;
    step.stamp = now;
  }
  log.events.push_back({LogEventKind::checkpoint, 50, 0, 1, ""});
  const RunCourse course = run_course(log);
  CHECK(course.pauses == 2);
  CHECK(course.paused_seconds == Approx(50.0).margin(0.1));
  CHECK(course.paused_at_checkpoints == Approx(40.0).margin(0.1));
  REQUIRE(course.productive);
  CHECK(*course.productive == Approx(188.0 / 238.0).margin(0.01));
}

TEST_CASE("diagnosis: what a log does not say is asked for by name", "[calibration][diagnosis]") {
  const RunCatalog catalog = load_run_catalog();
  TrainingLog log = course_log(20, usual);
  log.files = {"run.log"};
  log.format = "megatron-lm";
  for (const auto& [member, value] : {std::pair{&LoggedPlan::gpus, 16},
                                      {&LoggedPlan::tensor, 8},
                                      {&LoggedPlan::pipeline, 1},
                                      {&LoggedPlan::data, 2},
                                      {&LoggedPlan::micro_batch, 1},
                                      {&LoggedPlan::global_batch, 64},
                                      {&LoggedPlan::sequence, 4096},
                                      {&LoggedPlan::layers, 32},
                                      {&LoggedPlan::hidden, 4096},
                                      {&LoggedPlan::heads, 32},
                                      {&LoggedPlan::ffn_hidden, 16384},
                                      {&LoggedPlan::vocabulary, 50304}})
    log.plan.*member = value;
  log.plan.precision = "bf16";
  Diagnostics diagnostics;
  const LoggedJob asked = logged_job(log, {}, catalog, diagnostics);
  CHECK_FALSE(asked.job);
  CHECK(asked.missing == std::vector<std::string>{"stack", "gpu"});
  const LoggedJob made = logged_job(
      log, {{"stack", "megatron-core"}, {"gpu", "h100-sxm5-80gb"}, {"model.gated_mlp", "true"}},
      catalog, diagnostics);
  CHECK(diagnostics.empty());
  CAPTURE(made.why);
  REQUIRE(made.job);
  CHECK(made.job->parallel.gpus() == 16);
  CHECK(made.job->model.gated_mlp);
  CHECK(made.job->stack.name == "megatron-core");
  static_cast<void>(logged_job(log, {{"modle.layers", "3"}}, catalog, diagnostics));
  CHECK_FALSE(diagnostics.empty());
  Diagnostics others;
  CHECK_FALSE(
      logged_job(log, {{"stack", "no-such"}, {"gpu", "h100-sxm5-80gb"}}, catalog, others).job);
}

}  // namespace foretrain
