// SPDX-License-Identifier: Apache-2.0
// SARIF 2.1.0 (OASIS standard, 27 March 2020): what the log, its rules and its results must have.
// The rules of the standard that concern us are written down in sarif_rules.json as a JSON Schema;
// sections are named there.
#include <catch2/catch.hpp>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "planner/check/check.hpp"
#include "tests/json_schema.hpp"
#include "tests/planner/fixtures.hpp"

using namespace foretrain;

namespace {

std::string broken_rule(const nlohmann::json& log) {
  return test::schema_errors(FORETRAIN_SOURCE_DIR "/tests/planner/check/sarif_rules.json", log);
}

CheckedScenario unreadable(const std::string& file) {
  CheckedScenario broken;
  broken.file = file;
  broken.errors = {{file, 3, 5, "parallel.tensr", "unknown key"}, {file, 0, 0, "", "too large"}};
  return broken;
}

nlohmann::json sarif(const std::vector<CheckedScenario>& all) {
  return nlohmann::json::parse(check_sarif(all));
}

const nlohmann::json& place(const nlohmann::json& log, std::size_t result) {
  return log.at("runs").at(0).at("results").at(result).at("locations").at(0).at("physicalLocation");
}

}  // namespace

TEST_CASE("SARIF: a check without findings is a log without results", "[check][sarif]") {
  const nlohmann::json log = sarif(
      {check_scenario("ok.yaml", fixtures::fitting(), baseline_of(fixtures::fitting()), 0.0)});
  CHECK(broken_rule(log).empty());
  CHECK(log.at("runs").at(0).at("results").empty());
}

TEST_CASE("SARIF: input errors are at their lines, in a log that keeps the standard's rules",
          "[check][sarif]") {
  const nlohmann::json log = sarif({unreadable("runs/a b%.yaml"), unreadable("/data/a.yaml")});
  CHECK(broken_rule(log).empty());
  const nlohmann::json& results = log.at("runs").at(0).at("results");
  REQUIRE(results.size() == 4);
  CHECK(results[0].at("ruleId") == "scenario");
  CHECK(results[0].at("message").at("text") == "parallel.tensr: unknown key");
  CHECK(place(log, 0).at("artifactLocation").at("uri") == "runs/a%20b%25.yaml");
  CHECK(place(log, 0).at("artifactLocation").at("uriBaseId") == "%SRCROOT%");
  CHECK(place(log, 0).at("region") == nlohmann::json{{"startLine", 3}, {"startColumn", 5}});
  CHECK(place(log, 1).at("region") == nlohmann::json{{"startLine", 1}});
  CHECK(place(log, 2).at("artifactLocation") == nlohmann::json{{"uri", "file:///data/a.yaml"}});
}

TEST_CASE("SARIF: every kind of violation names its rule, what moved is one result",
          "[check][sarif]") {
  Report slower = fixtures::fitting();
  slower.prediction.step->breakdown.tensor += Seconds{0.5};
  slower.prediction.step->time += Seconds{0.5};
  Report over = fixtures::fitting();
  BudgetVerdict verdict;
  verdict.line = {"step.time_s", 1.0, std::nullopt, 7};
  verdict.value = 2.0;
  over.scenario.job.budget = {verdict.line};
  over.budget = {verdict};
  Report unguarded = fixtures::fitting();
  unguarded.scenario.job.budget = {};
  const nlohmann::json log =
      sarif({check_scenario("a.yaml", slower, baseline_of(fixtures::fitting()), 1e-6),
             check_scenario("b.yaml", over, std::nullopt, 0.0),
             check_scenario("c.yaml", fixtures::out_of_memory(), std::nullopt, 0.0),
             check_scenario("d.yaml", unguarded, std::nullopt, 0.0)});
  CHECK(broken_rule(log).empty());
  const nlohmann::json& run = log.at("runs").at(0);
  const nlohmann::json& described = run.at("tool").at("driver").at("rules");
  std::vector<std::string> ids;
  for (const nlohmann::json& result : run.at("results")) {
    ids.push_back(result.at("ruleId"));
    CHECK(described.at(result.at("ruleIndex").get<std::size_t>()).at("id") == result.at("ruleId"));
  }
  REQUIRE(ids.size() >= 4);
  CHECK(ids[0] == "baseline");
  CHECK(run.at("results")[0].at("message").at("text").get<std::string>().find("step.time_s: ") !=
        std::string::npos);
  CHECK(ids[1] == "budget");
  CHECK(place(log, 1).at("region").at("startLine") == 7);
  CHECK(ids[2] == "infeasible");
  CHECK(std::count(ids.begin(), ids.end(), "unguarded") >= 1);
}

TEST_CASE("SARIF: the rules refuse logs that are not", "[check][sarif]") {
  const nlohmann::json good = sarif({unreadable("a.yaml")});
  REQUIRE(broken_rule(good).empty());
  const auto refuses = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json log = good;
    log[nlohmann::json::json_pointer(pointer)] = value;
    CAPTURE(pointer);
    CHECK_FALSE(broken_rule(log).empty());
  };
  refuses("/version", "2.0.0");
  refuses("/runs/0/results/0/level", "fatal");
  refuses("/runs/0/results/0/message", nlohmann::json::object());
  refuses("/runs/0/results/0/locations/0/physicalLocation/region/startLine", 0);
  refuses("/runs/0/results/0/locations/0/physicalLocation/artifactLocation/uri", "a b.yaml");
  refuses("/runs/0/tool", nlohmann::json::object());
  refuses("/runs/0/results/0/extra", 1);
}
