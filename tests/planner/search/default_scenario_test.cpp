// SPDX-License-Identifier: Apache-2.0
// The scenario that `./dev run` shows first: a plan that practitioners run, beside its measurement.
#include <catch2/catch.hpp>

#include <filesystem>
#include <regex>
#include <string>

#include "planner/search/plan_report.hpp"
#include "scenarios/resolve/scenario.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {
namespace {

const std::filesystem::path root{FORETRAIN_SOURCE_DIR};

std::string text_of(const std::filesystem::path& file) {
  Diagnostics diagnostics;
  const auto text = read_text_file(file, file.string(), 1 << 20, diagnostics);
  REQUIRE(text.has_value());
  return *text;
}

/// The first group of a pattern in a file.
std::string found(const std::filesystem::path& file, const char* pattern) {
  const std::string text = text_of(file);
  std::smatch match;
  CAPTURE(file, pattern);
  REQUIRE(std::regex_search(text, match, std::regex{pattern}));
  return match[1].str();
}

std::filesystem::path default_scenario() {
  return root / found(root / "dev", "default_scenario=(\\S+)");
}

TEST_CASE("default scenario: the measurement that it names lies in the band of its forecast",
          "[planner][default]") {
  const auto file = default_scenario();
  const double measured = std::stod(found(file, "([0-9.]+) s per step"));
  CHECK(found(root / "README.md", "\\*\\*([0-9.]+) s per step") ==
        found(file, "([0-9.]+) s per step"));
  const Report report = evaluate(load_scenario(file));
  REQUIRE(report.prediction.step);
  CHECK(report.prediction.step->low.value() < measured);
  CHECK(report.prediction.step->high.value() > measured);
}

TEST_CASE("default scenario: it leaves a twentieth of the memory, and no plan beats it by much",
          "[planner][default]") {
  const Scenario scenario = load_scenario(default_scenario());
  SearchOptions options;
  options.limits.max_memory_share = 0.95;
  options.top = 1;
  const PlanReport report =
      plan(scenario, default_space(scenario.job), options, PlanQuestion{scenario, {}});
  REQUIRE(report.standing);
  REQUIRE(report.standing->rank);  // it keeps the limit
  REQUIRE(report.plans.size() == 1);
  const Seconds best = report.plans.front().report.prediction.step->time;
  CHECK(report.standing->report.prediction.step->time / best < 1.05);
}

}  // namespace
}  // namespace foretrain
