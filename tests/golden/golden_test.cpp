// SPDX-License-Identifier: Apache-2.0
// Every committed scenario against its recorded forecast, field by field. Any change of a
// prediction shows up here. FORETRAIN_UPDATE_GOLDEN=1 rewrites the records; review the difference.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "planner/forecast/report.hpp"
#include "planner/forecast/report_json.hpp"
#include "scenarios/resolve/scenario.hpp"

using namespace foretrain;
using nlohmann::ordered_json;
namespace fs = std::filesystem;

namespace {

const fs::path source_dir{FORETRAIN_SOURCE_DIR};
constexpr double default_tolerance = 1e-9;  // our own code on another compiler

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(source_dir / "scenarios"))
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path golden_file(const std::string& name) {
  return source_dir / "tests/golden" / (name + ".expected.json");
}

/// The forecast without what changes for other reasons: version, citations, the scenario itself.
ordered_json forecast(const std::string& name) {
  const Scenario scenario = load_scenario(source_dir / "scenarios" / (name + ".yaml"));
  ordered_json result = ordered_json::parse(report_json(evaluate(scenario)));
  for (const char* key : {"foretrain_version", "scenario", "provenance"}) result.erase(key);
  return result;
}

ordered_json read(const fs::path& file) {
  std::ifstream stream{file};
  REQUIRE(stream.good());
  return ordered_json::parse(stream);
}

/// One line per field that differs.
void compare(const ordered_json& expected, const ordered_json& actual, double tolerance,
             const std::string& path, std::vector<std::string>& differences) {
  if (expected.is_number() && actual.is_number()) {
    const double a = expected.get<double>();
    const double b = actual.get<double>();
    if (std::abs(a - b) > tolerance * std::max(std::abs(a), std::abs(b)))
      differences.push_back(path + ": " + expected.dump() + " -> " + actual.dump());
    return;
  }
  const ordered_json was = expected.flatten();
  const ordered_json is = actual.flatten();
  if (!expected.is_structured() || !actual.is_structured()) {
    if (expected != actual)
      differences.push_back(path + ": " + expected.dump() + " -> " + actual.dump());
    return;
  }
  for (const auto& [key, value] : was.items()) {
    if (!is.contains(key))
      differences.push_back(path + key + ": gone");
    else
      compare(value, is[key], tolerance, path + key, differences);
  }
  for (const auto& [key, value] : is.items())
    if (!was.contains(key)) differences.push_back(path + key + ": new");
}

}  // namespace

TEST_CASE("golden: every scenario has a record and no record lacks its scenario", "[golden]") {
  std::vector<std::string> recorded;
  for (const auto& entry : fs::directory_iterator(source_dir / "tests/golden")) {
    const std::string file = entry.path().filename().string();
    const auto at = file.find(".expected.json");
    if (at != std::string::npos) recorded.push_back(file.substr(0, at));
  }
  std::sort(recorded.begin(), recorded.end());
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") == nullptr) CHECK(recorded == scenario_names());
}

TEST_CASE("golden: forecasts are what they were", "[golden]") {
  const std::string name = GENERATE(from_range(scenario_names()));
  const ordered_json actual = forecast(name);
  if (std::getenv("FORETRAIN_UPDATE_GOLDEN") != nullptr) {
    ordered_json record;
    record["tolerance"] = default_tolerance;
    record["prediction"] = actual;
    std::ofstream{golden_file(name)} << record.dump(2) << '\n';
    return;
  }
  const ordered_json record = read(golden_file(name));
  std::vector<std::string> differences;
  compare(record.at("prediction"), actual, record.at("tolerance").get<double>(), "", differences);
  std::ostringstream text;
  for (const std::string& line : differences) text << line << '\n';
  INFO(name << " moved:\n" << text.str());
  CHECK(differences.empty());
}

TEST_CASE("golden: a forecast is a function of its scenario, byte for byte", "[golden]") {
  const fs::path file = source_dir / "scenarios/llama2-70b-1024xh100.yaml";
  CHECK(report_json(evaluate(load_scenario(file))) == report_json(evaluate(load_scenario(file))));
}
