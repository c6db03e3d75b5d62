// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/run_end.hpp"

#include <cmath>

#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/report.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/compare.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/solve/solve.hpp"
#include "tests/planner/fixtures.hpp"
#include "tests/planner/forecast/shipped_scenario.hpp"

using namespace foretrain;

namespace {

const std::string operations = "llama3.1-405b-16384xh100-operations.yaml";

Scenario interrupted_every(const std::string& time) {
  return test::scenario_with({"operations.mean_time_between_interruptions=" + time}, operations);
}

bool has_reason(const Prediction& p, std::string_view rule) {
  return std::any_of(p.reasons.begin(), p.reasons.end(),
                     [&](const Infeasible& reason) { return reason.rule == rule; });
}

}  // namespace

TEST_CASE("run end: a run that loses more than it gains never finishes, in every answer",
          "[planner][forecast]") {
  const Scenario scenario = interrupted_every("1 min");
  const Report report = evaluate(scenario);
  CHECK(run_verdict(report.prediction) == Verdict::no);
  CHECK_FALSE(report.prediction.feasible());
  CHECK(report.prediction.run.meets_deadline == 0.0);
  const AnswerHead head = report_head(report, "run.yaml");
  CHECK(head.words == "NEVER FINISHES");
  CHECK(head.sentence.find("74.2 days") == std::string::npos);
  const std::vector<KeyFigure> figures = key_figures(report.prediction);
  REQUIRE(figures.size() == 6);
  CHECK(figures[4].figure.value == "never");
  CHECK(figures[5].figure.value.empty());
  CHECK(figures[5].figure.band == "the plan cannot run");

  CHECK_FALSE(run_duration(report.prediction));
  CHECK_FALSE(report.prediction.cost.price);
  CHECK(goodput_answer(study_goodput(scenario, GoodputOptions{})).head.verdict == Verdict::no);
  const Comparison both = compare({report, evaluate(interrupted_every("3 h"))});
  CHECK(comparison_head(both).verdict == Verdict::no);
  CHECK(comparison_head(both).words == "NOT ALL FINISH IN TIME");
}

TEST_CASE("run end: a late run is not one that does not fit", "[planner][forecast]") {
  const Report late = evaluate(interrupted_every("5 min"));
  CHECK(has_reason(late.prediction, deadline_rule));
  CHECK(verdict_words(late.prediction) == "MISSES THE DEADLINE");
  CHECK(late.prediction.memory->fits());

  const Report close = evaluate(interrupted_every("1 h"));
  CHECK(close.prediction.feasible());
  CHECK(run_verdict(close.prediction) == Verdict::at_risk);
  CHECK(verdict_words(close.prediction) == "DEADLINE AT RISK");
}

TEST_CASE("run end: the chance of a deadline follows the step's band", "[planner][forecast]") {
  StepForecast step;
  step.low = Seconds{9.0};
  step.time = Seconds{10.0};
  step.high = Seconds{12.0};
  const auto chance = [&](double deadline) {
    return chance_in_time(Seconds{1000.0}, step, Seconds{deadline});
  };
  CHECK(std::abs(chance(900.0) - 0.1) < 1e-9);
  CHECK(std::abs(chance(1000.0) - 0.5) < 1e-9);
  CHECK(std::abs(chance(1200.0) - 0.9) < 1e-9);
  CHECK(of_chance(0.2) == Verdict::at_risk);
  CHECK(of_chance(0.05) == Verdict::no);
  CHECK(of_chance(0.95) == Verdict::safe);
}

TEST_CASE("run end: judged again, nothing is told twice", "[planner][forecast]") {
  const Scenario scenario = interrupted_every("5 min");
  Report report = evaluate(scenario);
  const std::size_t reasons = report.prediction.reasons.size();
  judge_run_end(scenario.job, report.prediction);
  CHECK(report.prediction.reasons.size() == reasons);
}

TEST_CASE("run end: a search that only misses the deadline says so", "[planner][search]") {
  const Scenario scenario = test::scenario_with({});
  SearchOptions options;
  options.limits.max_run = 20.0 * days;
  const PlanReport report = plan(scenario, default_space(scenario.job), options);
  const AnswerHead head = plan_head(report, "run.yaml");
  CHECK(head.words == "NO PLAN MEETS THE DEADLINE");
  CHECK(head.next == "foretrain solve run.yaml gpus --deadline \"20 days\"");
  CHECK(head.sentence.find("The chance that it is met all the same is 3") != std::string::npos);
}
