// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>

#include "planner/check/check.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr std::size_t told_drifts = 12;
constexpr std::string_view input_rule = "scenario";

/// A kind of finding: its id, and what it says in general.
struct Rule {
  std::string_view id;
  std::string_view meaning;
};

constexpr std::array<Rule, 5> rules{{
    {input_rule, "The scenario, or its baseline, cannot be read."},
    {"budget", "A number of the forecast is outside the scenario's budget."},
    {"baseline", "The forecast is not what its baseline says."},
    {"infeasible", "The plan cannot run, and no baseline accepts that."},
    {"unguarded", "The scenario has neither a budget nor a baseline."},
}};

std::size_t rule_index(std::string_view id) {
  std::size_t index = 0;
  while (index + 1 < rules.size() && rules[index].id != id) ++index;
  return index;
}

/// A path as a URI reference (RFC 3986): everything but letters, digits, "-._~" and "/" as %XX.
std::string uri_of(const std::string& path) {
  std::string uri;
  for (const char c : std::filesystem::path(path).lexically_normal().string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::string_view("-._~/").find(c) != std::string_view::npos;
    uri += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return uri;
}

Json location(const std::string& file, int line, int column) {
  Json artifact;
  if (std::filesystem::path(file).is_absolute()) {
    artifact["uri"] = "file://" + uri_of(file);
  } else {
    artifact["uri"] = uri_of(file);
    artifact["uriBaseId"] = "%SRCROOT%";
  }
  // A finding about the file as a whole is shown at its first line.
  Json region{{"startLine", line > 0 ? line : 1}};
  if (line > 0 && column > 0) region["startColumn"] = column;
  return {{"physicalLocation", {{"artifactLocation", artifact}, {"region", region}}}};
}

Json result(std::string_view rule, const std::string& message, Json place) {
  return {{"ruleId", rule},
          {"ruleIndex", rule_index(rule)},
          {"level", "error"},
          {"message", {{"text", message}}},
          {"locations", Json::array({std::move(place)})}};
}

/// What moved, as one finding.
std::string moved_text(const CheckedScenario& checked) {
  std::string text = "the forecast moved";
  std::size_t told = 0;
  for (const Violation& violation : checked.violations)
    if (violation.kind == Violation::Kind::baseline && ++told <= told_drifts)
      text += "\n" + violation.message;
  if (told > told_drifts) text += fmt::format("\nand {} more", told - told_drifts);
  return told == 0 ? std::string{} : text;
}

void add_results(const CheckedScenario& checked, Json& results) {
  for (const Diagnostic& error : checked.errors)
    results.push_back(
        result(input_rule, error.path.empty() ? error.message : error.path + ": " + error.message,
               location(error.file.empty() ? checked.file : error.file, error.line, error.column)));
  for (const Violation& violation : checked.violations)
    if (violation.kind != Violation::Kind::baseline)
      results.push_back(result(violation_name(violation.kind), violation.message,
                               location(checked.file, violation.line, 0)));
  if (const std::string moved = moved_text(checked); !moved.empty())
    results.push_back(
        result(violation_name(Violation::Kind::baseline), moved, location(checked.file, 0, 0)));
}

}  // namespace

std::string check_sarif(const std::vector<CheckedScenario>& all) {
  Json described = Json::array();
  for (const Rule& rule : rules)
    described.push_back({{"id", rule.id},
                         {"shortDescription", {{"text", rule.meaning}}},
                         {"defaultConfiguration", {{"level", "error"}}}});
  Json results = Json::array();
  for (const CheckedScenario& checked : all) add_results(checked, results);
  const Json driver{{"name", "foretrain"}, {"version", version}, {"rules", std::move(described)}};
  Json run{{"tool", {{"driver", driver}}},
           {"originalUriBaseIds",
            {{"%SRCROOT%", {{"description", {{"text", "The folder that check ran in."}}}}}}},
           {"results", std::move(results)}};
  return dump({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
               {"version", "2.1.0"},
               {"runs", Json::array({std::move(run)})}});
}

}  // namespace foretrain
