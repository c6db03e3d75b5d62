// SPDX-License-Identifier: Apache-2.0
// Folds fitted: what is left out moves no forecast, and what is kept comes back to the last bit.
#include "calibration/fit/leave_out.hpp"

#include <catch2/catch.hpp>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "calibration/fit/fold.hpp"
#include "tests/calibration/measured_records.hpp"
#include "tests/temporary_folder.hpp"

namespace foretrain {
namespace {

namespace fs = std::filesystem;

FitPlan plan_of_steps() {
  std::ifstream stream(std::string(FORETRAIN_SOURCE_DIR) + "/calibration/fits/steps.yaml");
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  RunCatalog catalog = shipped_catalog();
  Diagnostics diagnostics;
  const auto plan = read_fit_plan(text, "steps.yaml", catalog, diagnostics);
  diagnostics.throw_if_any();
  REQUIRE(plan.has_value());
  return *plan;
}

std::vector<StepRun> runs_of_families(const std::vector<std::string>& families) {
  std::vector<RunRecord> records;
  for (const RunRecord& record : shipped_runs())
    for (const std::string& family : families)
      if (record.family() == family) records.push_back(record);
  return step_runs(records, shipped_catalog());
}

std::vector<RunFacts> facts_in(const std::vector<StepRun>& runs, const FitPlan& plan) {
  std::vector<RunFacts> facts;
  for (const StepRun& run : runs)
    if (run.job) facts.push_back(facts_of(run, plan, shipped_catalog()));
  return facts;
}

std::vector<Fold> folds_in(FoldAxis axis, const std::vector<StepRun>& runs, const FitPlan& plan) {
  return folds_of(axis, facts_in(runs, plan));
}

LeaveOut left_out_of(const FitPlan& plan, const std::vector<StepRun>& runs,
                     const std::vector<Fold>& folds, const LeaveOutOptions& options) {
  return leave_out(plan, runs, facts_in(runs, plan), folds, options);
}

Fold fold_called(const std::string& name, const std::vector<Fold>& folds) {
  for (const Fold& fold : folds)
    if (fold.name == name) return fold;
  FAIL(name);
  return folds.front();
}

}  // namespace

TEST_CASE("leaving a source out: its records no longer pull on the profiles",
          "[calibration][fit]") {
  const FitPlan plan = plan_of_steps();
  std::vector<StepRun> runs = runs_of_families({"sc21", "kort", "zb"});
  const std::vector<Fold> folds{fold_called("kort", folds_in(FoldAxis::source, runs, plan))};
  const LeaveOut left_out = left_out_of(plan, runs, folds, {});
  for (StepRun& run : runs)  // were kort ten times slower, its forecasts would be the same
    if (run.check.source == "kort") run.check.measured *= 10.0;
  const LeaveOut slower = left_out_of(plan, runs, folds, {});
  REQUIRE(left_out.folds.size() == 1);
  const auto& checks = left_out.folds[0].checks;
  REQUIRE(checks.size() == 6);
  for (std::size_t i = 0; i < checks.size(); ++i) {
    CHECK(checks[i].source == "kort");
    CHECK(checks[i].error() < 0.2);
    CHECK(slower.folds[0].checks[i].predicted == Approx(checks[i].predicted).epsilon(0.01));
  }
}

TEST_CASE("leaving everything out: a stack without records is what the plan expects",
          "[calibration][fit]") {
  const FitPlan plan = plan_of_steps();
  const std::vector<StepRun> runs = runs_of_families({"kort"});
  const LeaveOut left_out = left_out_of(plan, runs, folds_in(FoldAxis::source, runs, plan), {});
  REQUIRE(left_out.folds.size() == 1);
  REQUIRE(left_out.folds[0].checks.size() == 6);
  for (const RecordCheck& check : left_out.folds[0].checks) CHECK(std::abs(check.error()) < 0.25);
}

TEST_CASE("folds kept: the same to the last bit, alone or after others, and anew when a run moved",
          "[calibration][fit][folds]") {
  const FitPlan plan = plan_of_steps();
  std::vector<StepRun> runs = runs_of_families({"kort", "zb"});
  const std::vector<Fold> folds = folds_in(FoldAxis::source, runs, plan);
  REQUIRE(folds.size() == 2);
  const test::TemporaryFolder folder;
  int fitted = 0;
  LeaveOutOptions options{folder.path(), nullptr,
                          [&](const Fold&, std::size_t, std::size_t) { ++fitted; }};
  const auto seconds = [](const LeaveOut& of) {
    std::vector<double> all;
    for (const FoldForecast& fold : of.folds)
      for (const RecordCheck& check : fold.checks) all.push_back(check.predicted);
    return all;
  };
  const LeaveOut alone = left_out_of(plan, runs, {folds[1]}, {});
  const LeaveOut first = left_out_of(plan, runs, folds, options);
  CHECK(fitted == 2);
  CHECK(seconds(alone) == seconds({{first.folds[1]}, false}));
  const LeaveOut second = left_out_of(plan, runs, folds, options);
  CHECK(fitted == 2);
  CHECK(seconds(second) == seconds(first));
  const auto moved = std::find_if(runs.begin(), runs.end(),
                                  [](const StepRun& run) { return run.job.has_value(); });
  moved->check.measured *= 1.0 + 1e-12;
  (void)left_out_of(plan, runs, folds, options);
  CHECK(fitted == 4);
}

TEST_CASE("folds stopped: those that were finished are there, and nothing is computed",
          "[calibration][fit][folds]") {
  const FitPlan plan = plan_of_steps();
  const std::vector<StepRun> runs = runs_of_families({"kort", "zb"});
  const std::vector<Fold> folds = folds_in(FoldAxis::source, runs, plan);
  std::atomic<bool> stop{false};
  LeaveOutOptions options{{}, &stop, [&](const Fold&, std::size_t done, std::size_t) {
                            if (done == 1) stop = true;
                          }};
  const LeaveOut left_out = left_out_of(plan, runs, folds, options);
  CHECK(left_out.stopped);
  REQUIRE(left_out.folds.size() == 1);
  CHECK(left_out.folds[0].fold.name == folds[0].name);
}

TEST_CASE("fold cache: damaged and foreign files count as nothing", "[calibration][folds]") {
  const test::TemporaryFolder folder;
  const FoldCache cache(folder.path());
  const std::vector<std::string> names{"a run", "b"};
  CHECK_FALSE(cache.find(7, names));
  cache.keep(7, names, {0.1, 3e-300});
  CHECK(cache.find(7, names) == std::vector<double>{0.1, 3e-300});
  CHECK_FALSE(cache.find(7, {"a run", "c"}));
  CHECK_FALSE(cache.find(7, {"a run"}));
  for (const auto& entry : fs::directory_iterator(folder.path())) fs::resize_file(entry.path(), 20);
  CHECK_FALSE(cache.find(7, names));
  CHECK_FALSE(FoldCache({}).find(7, {}));
}

}  // namespace foretrain
