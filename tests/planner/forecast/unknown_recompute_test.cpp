// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include <algorithm>

#include "planner/forecast/report.hpp"
#include "tests/planner/forecast/shipped_scenario.hpp"

namespace foretrain {
namespace {

Report report_with(const std::string& recompute) {
  return evaluate(test::scenario_with({"memory.recompute=" + recompute}));
}

}  // namespace

TEST_CASE("a forecast with unknown recomputation reaches over all that the plan may be",
          "[planner][forecast]") {
  const Prediction unknown = report_with("unknown").prediction;
  REQUIRE(unknown.step);
  Seconds low = unknown.step->time;
  Seconds high = unknown.step->time;
  int running = 0;
  bool one_of_them = false;
  for (const char* kind : {"none", "selective", "full"}) {
    const Prediction known = report_with(kind).prediction;
    if (!known.step) continue;
    ++running;
    low = min(low, known.step->low);
    high = max(high, known.step->high);
    one_of_them = one_of_them || known.step->time == unknown.step->time;
    CHECK(unknown.memory->high >= known.memory->high);
  }
  REQUIRE(running >= 2);
  CHECK(one_of_them);
  CHECK(unknown.step->low == low);
  CHECK(unknown.step->high == high);
  const auto told = std::find_if(unknown.warnings.begin(), unknown.warnings.end(),
                                 [](const Warning& w) { return w.id == "recompute-unknown"; });
  REQUIRE(told != unknown.warnings.end());
  CHECK_THAT(told->message, Catch::StartsWith("recomputation unknown: ") &&
                                Catch::Contains("selective would be") &&
                                Catch::Contains("Find out what the run recomputes"));
}

TEST_CASE("where no plan that it may be fits, the most frugal one says what is missing",
          "[planner][forecast]") {
  const Report report = evaluate(
      test::scenario_with({"memory.recompute=unknown", "parallel.pipeline=1", "parallel.tensor=1",
                           "parallel.sequence=false", "parallel.data=1024", "parallel.zero=0"}));
  CHECK_FALSE(report.prediction.feasible());
  CHECK(report.scenario.job.memory.recompute.kind == RecomputeKind::full);
}

}  // namespace foretrain
