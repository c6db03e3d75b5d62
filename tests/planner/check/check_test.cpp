// SPDX-License-Identifier: Apache-2.0
#include "planner/check/check.hpp"

#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/planner/fixtures.hpp"

using namespace foretrain;

namespace {

bool says(const CheckedScenario& checked, const std::string& words) {
  return std::any_of(checked.violations.begin(), checked.violations.end(),
                     [&](const Violation& violation) {
                       return violation.message.find(words) != std::string::npos;
                     });
}

/// The same forecast with every byte of the heaviest stage three percent more.
Report heavier() {
  Report report = fixtures::fitting();
  report.prediction.memory->peak *= 1.03;
  return report;
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(parse_baseline(text, "b.json"));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("check: a forecast is what was agreed on, through the file", "[check]") {
  const Report report = fixtures::fitting();
  const Baseline baseline = parse_baseline(baseline_json(baseline_of(report)), "b.json");
  CHECK(baseline.values.size() > 30);
  CHECK(drift(baseline, baseline_of(report), 0.0).empty());
  CHECK(check_scenario("a.yaml", report, baseline, 0.0).pass());
}

TEST_CASE("check: three percent more memory fail with the numbers, either way", "[check]") {
  const Baseline before = baseline_of(fixtures::fitting());
  const CheckedScenario more = check_scenario("a.yaml", heavier(), before, 0.001);
  REQUIRE(more.violations.size() == 1);
  CHECK(says(more, "memory.peak_bytes: "));
  CHECK(says(more, "(+3.0 %)"));
  const CheckedScenario less =
      check_scenario("a.yaml", fixtures::fitting(), baseline_of(heavier()), 0.001);
  CHECK(says(less, "(-2.9 %)"));
  CHECK(check_scenario("a.yaml", heavier(), before, 0.05).pass());
}

TEST_CASE("check: numbers that moved for one reason are one line", "[check]") {
  Baseline before;
  before.engine = "closed-form";
  before.values = {{"memory.peak_bytes", 100.0},
                   {"memory.stages.0.activations_bytes", 40.0},
                   {"memory.stages.0.weights_bytes", 20.0},
                   {"step.time_s", 8.0},
                   {"step.low_s", 7.0},
                   {"step.breakdown.tensor_s", 1.0},
                   {"step.breakdown.bubble_s", 0.5},
                   {"step.breakdown.compute_s", 6.5},
                   {"mfu", 0.5},
                   {"run.ideal_s", 800.0},
                   {"cost.usd", 10.0}};
  Baseline after = before;
  after.values = {{"memory.peak_bytes", 110.0},
                  {"memory.stages.0.activations_bytes", 50.0},
                  {"memory.stages.0.weights_bytes", 20.0},
                  {"step.time_s", 10.0},
                  {"step.low_s", 8.75},
                  {"step.breakdown.tensor_s", 3.25},
                  {"step.breakdown.bubble_s", 0.25},
                  {"step.breakdown.compute_s", 6.5},
                  {"mfu", 0.4},
                  {"run.ideal_s", 1000.0},
                  {"cost.usd", 11.0}};
  const auto drifts = drift(before, after, 1e-6);
  const auto groups = grouped(drifts);
  REQUIRE(groups.size() == 3);
  CHECK(groups[0].text() ==
        "step.time_s: 8.00 s -> 10.0 s (+25.0 %); likewise step.low_s, run.ideal_s; inversely mfu; "
        "parts: tensor +2.25 s, bubble -250 ms");
  CHECK(groups[1].lead.path == "memory.peak_bytes");
  REQUIRE(groups[1].parts.size() == 1);
  // By the same 10 % as memory, and for another reason.
  CHECK(groups[2].lead.path == "cost.usd");
  std::size_t told = 0;
  for (const DriftGroup& group : groups)
    told += 1 + group.alike.size() + group.inverse.size() + group.parts.size();
  CHECK(told == drifts.size());
}

TEST_CASE("check: a number that becomes known or goes away is a change, a new row is not",
          "[check]") {
  const Report report = fixtures::fitting();
  Baseline before = baseline_of(report);
  before.values.emplace_back("run.extra_s", 1.0);
  before.values.front().second.reset();
  before.values.erase(before.values.begin() + 1);
  const auto moved = drift(before, baseline_of(report), 0.5);
  REQUIRE(moved.size() == 2);
  CHECK(moved[0].text().find("unknown -> ") != std::string::npos);
  CHECK(moved[1].path == "run.extra_s");
  CHECK(moved[1].text().find("-> unknown") != std::string::npos);
}

TEST_CASE("check: what rounding leaves of a part of the step that is nothing is no change",
          "[check]") {
  const Baseline before = baseline_of(fixtures::fitting());
  const auto with_bubble = [&](double value) {
    Baseline after = before;
    for (auto& [path, number] : after.values)
      if (path == "step.breakdown.bubble_s") number = value;
    return after;
  };
  CHECK(drift(with_bubble(0.0), with_bubble(-2e-15), 0.0).empty());
  CHECK(drift(with_bubble(0.0), with_bubble(1e-9), 0.0).size() == 1);
}

TEST_CASE("check: a plan that cannot run must have been agreed on", "[check]") {
  const Report report = fixtures::out_of_memory();
  CHECK_FALSE(check_scenario("a.yaml", report, std::nullopt, 0.0).pass());
  CHECK(check_scenario("a.yaml", report, baseline_of(report), 0.0).pass());
  const CheckedScenario worse =
      check_scenario("a.yaml", report, baseline_of(fixtures::fitting()), 0.0);
  CHECK(says(worse, "was feasible, and is out-of-memory"));
}

TEST_CASE("check: budgets are judged, and a scenario without guard does not pass", "[check]") {
  Report report = fixtures::fitting();
  report.scenario.job.budget = {};
  CHECK(says(check_scenario("a.yaml", report, std::nullopt, 0.0), "neither a budget nor"));
  BudgetVerdict verdict;
  verdict.line = {"step.time_s", 1.0, std::nullopt, 7};
  verdict.value = 2.0;
  report.scenario.job.budget = {verdict.line};
  report.budget = {verdict};
  const CheckedScenario checked = check_scenario("a.yaml", report, std::nullopt, 0.0);
  REQUIRE(checked.violations.size() == 1);
  CHECK(checked.violations.front().kind == Violation::Kind::budget);
  CHECK(checked.violations.front().line == 7);
  report.budget.front().pass = true;
  CHECK(check_scenario("a.yaml", report, std::nullopt, 0.0).pass());
}

TEST_CASE("check: files that are no baselines are refused", "[check][error]") {
  CHECK(refusal("{").find("not a JSON object") != std::string::npos);
  CHECK(refusal("{\"schema\": 3}").find("schema is not baseline/1") != std::string::npos);
  CHECK(refusal("{\"schema\": \"baseline/1\"}").find("has no engine") != std::string::npos);
  CHECK(refusal(R"({"schema": "baseline/1", "engine": "path", "rules": [1]})")
            .find("a rule is not text") != std::string::npos);
  CHECK(refusal(R"({"schema": "baseline/1", "engine": "path", "rules": [], "values": {"a": "b"}})")
            .find("a is not a number") != std::string::npos);
}

TEST_CASE("check reports: the memory table has the parts, and they add up to the growth",
          "[check]") {
  Report more = fixtures::fitting();
  StageMemory& stage = more.prediction.memory->stages.front();
  REQUIRE(more.prediction.memory->peak_stage == 0);
  const Bytes grown = 512.0 * MiB;
  stage.activations += grown;
  stage.peak += grown;
  more.prediction.memory->peak += grown;
  const std::string markdown = answer_markdown(
      check_answer({check_scenario("a.yaml", more, baseline_of(fixtures::fitting()), 1e-6)}));
  CHECK(markdown.find("Where the memory of the heaviest stage went: a.yaml") != std::string::npos);
  CHECK(markdown.find("| activations | ") != std::string::npos);
  CAPTURE(markdown);
  CHECK(markdown.find("| +0.5 GiB |") != std::string::npos);
  CHECK(markdown.find("Where the step's time went") == std::string::npos);
}

TEST_CASE("check reports: tables, XML and annotations say what moved", "[check]") {
  Report slower = fixtures::fitting();
  slower.prediction.step->breakdown.tensor += Seconds{0.5};
  slower.prediction.step->time += Seconds{0.5};
  slower.prediction.memory->peak *= 1.01;  // for another reason: a second line
  CheckedScenario broken;
  broken.file = "b<&>.yaml";
  broken.errors = {{"b<&>.yaml", 3, 5, "parallel.tensr", "unknown key"}};
  const std::vector<CheckedScenario> all{
      check_scenario("ok.yaml", fixtures::fitting(), baseline_of(fixtures::fitting()), 0.0),
      check_scenario("a.yaml", slower, baseline_of(fixtures::fitting()), 1e-6), broken};
  const std::string text = answer_text(check_answer(all));
  CHECK(text.find("PASS   ok.yaml") != std::string::npos);
  CHECK(text.find("FAIL   a.yaml") != std::string::npos);
  CHECK(text.find("ERROR  b<&>.yaml") != std::string::npos);
  CHECK(text.find("1 of 3 scenarios pass") != std::string::npos);
  const std::string markdown = answer_markdown(check_answer(all));
  CHECK(markdown.find("| step.time_s | ") != std::string::npos);
  CHECK(markdown.find("| tensor | ") != std::string::npos);
  CHECK(markdown.find("| +500 ms |") != std::string::npos);
  const std::string junit = check_junit(all);
  CHECK(junit.find("tests=\"3\" failures=\"1\" errors=\"1\"") != std::string::npos);
  CHECK(junit.find("name=\"b&lt;&amp;&gt;.yaml\"") != std::string::npos);
  const std::string annotations = check_annotations(all);
  CHECK(annotations.find("::error file=b<&>.yaml,line=3,col=5,title=foretrain%3A scenario::"
                         "parallel.tensr: unknown key\n") != std::string::npos);
  CHECK(annotations.find("::error file=a.yaml,title=foretrain%3A the forecast moved::") !=
        std::string::npos);
  CHECK(annotations.find("%0A") != std::string::npos);
}
