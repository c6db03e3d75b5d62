// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/sweep/sweep_row.hpp"
#include "planner/text/json.hpp"
#include "tests/planner/fixtures.hpp"

using namespace foretrain;

namespace {

Report with_budget(Report report, std::vector<BudgetLine> lines) {
  report.scenario.job.budget = std::move(lines);
  return report;
}

}  // namespace

TEST_CASE("budget lines pass up to and including their limit", "[planner][budget]") {
  const Report plain = fixtures::fitting();
  const double step = plain.prediction.step->time.value();
  const auto verdicts =
      judge_budget(with_budget(plain, {{"step.time_s", step, std::nullopt, 3},
                                       {"step.time_s", step * 0.99, std::nullopt, 4},
                                       {"mfu", std::nullopt, 0.42, 5},
                                       {"mfu", 0.5, 0.43, 6},
                                       {"memory.stages.7.peak_bytes", 80e9, 1.0, 7}}));
  REQUIRE(verdicts.size() == 5);
  CHECK(verdicts[0].pass);
  CHECK_FALSE(verdicts[1].pass);
  CHECK(verdicts[2].pass);
  CHECK_FALSE(verdicts[3].pass);
  CHECK(verdicts[4].pass);
  CHECK_FALSE(within_budget(verdicts));
  CHECK(budget_text(verdicts[3]) == "mfu is 0.42, budget at most 0.5, budget at least 0.43");
}

TEST_CASE("a budget's limit may have a unit, which the metric decides", "[planner][budget]") {
  const auto judged = [](const char* metric, const char* limit) {
    return judge_budget(with_budget(fixtures::fitting(), {{metric, {}, {}, 3, limit, {}}})).front();
  };
  CHECK(judged("step.time_s", "1 h").line.max == 3600.0);
  CHECK(judged("run.expected_s", "45 days").line.max == 45.0 * 86400.0);
  CHECK(judged("memory.peak_bytes", "76 GiB").line.max == 76.0 * 1024 * 1024 * 1024);
  CHECK(judged("cost.usd", "2.5 MUSD").line.max == 2.5e6);
  CHECK(judged("tokens_per_s", "10 k").line.max == 1e4);
  CHECK(judged("step.time_s", "1 h").pass);
  CHECK_THROWS_WITH(judged("memory.peak_bytes", "45 days"),
                    Catch::Contains("budget[].max") && Catch::Contains("is not a size"));
}

TEST_CASE("budgets and sweeps know the same numbers", "[planner][budget]") {
  for (const std::string& path : quantities().number_paths()) {
    CAPTURE(path);
    CHECK_NOTHROW(SweepMetrics({path}));
    CHECK_NOTHROW(judge_budget(with_budget(fixtures::fitting(), {{path, 1.0, {}, 3}})));
  }
}

TEST_CASE("an unknown value does not pass", "[planner][budget]") {
  const auto verdicts =
      judge_budget(with_budget(fixtures::illegal(), {{"step.time_s", 100.0, std::nullopt, 3},
                                                     {"cost.usd", 1e9, std::nullopt, 4}}));
  REQUIRE(verdicts.size() == 2);
  for (const BudgetVerdict& verdict : verdicts) {
    CHECK_FALSE(verdict.value.has_value());
    CHECK_FALSE(verdict.pass);
  }
}

TEST_CASE("a metric that does not exist is named with its line and the nearest",
          "[planner][budget]") {
  const Report report =
      with_budget(fixtures::fitting(), {{"step.time", 1.0, std::nullopt, 12},
                                        {"memory.stages.9.peak_bytes", 1.0, std::nullopt, 13},
                                        {"flops.convention", 1.0, std::nullopt, 14}});
  try {
    (void)judge_budget(report);
    FAIL("no error");
  } catch (const ScenarioError& error) {
    REQUIRE(error.diagnostics().size() == 3);
    const std::string first = error.diagnostics()[0].text();
    CHECK(first.find("run.yaml:12") == 0);
    CHECK(first.find("did you mean 'step.time_s'") != std::string::npos);
    CHECK(error.diagnostics()[1].line == 13);
    CHECK(error.diagnostics()[2].line == 14);
  }
}
