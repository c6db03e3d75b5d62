// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/check/check.hpp"
#include "planner/text/svg_text.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

/// A message or property of a workflow command: what would end it is written as a code.
std::string command_text(const std::string& text, bool property) {
  std::string result;
  for (const char c : text) {
    const bool special = c == '%' || c == '\r' || c == '\n' || (property && (c == ':' || c == ','));
    result += special ? fmt::format("%{:02X}", static_cast<unsigned char>(c)) : std::string(1, c);
  }
  return result;
}

std::string annotation(const std::string& file, int line, int column, const std::string& title,
                       const std::string& message) {
  std::string place = "file=" + command_text(escaped(file), true);
  if (line > 0) place += fmt::format(",line={}", line);
  if (column > 0) place += fmt::format(",col={}", column);
  return "::error " + place + ",title=" + command_text(title, true) +
         "::" + command_text(message, false) + "\n";
}

std::string words_of(const CheckedScenario& checked) {
  std::string text;
  const auto add = [&](const std::string& line) { text += (text.empty() ? "" : "\n") + line; };
  for (const Diagnostic& error : checked.errors) add(error.text());
  for (const Violation& violation : checked.violations)
    add(fmt::format("{}: {}", violation_name(violation.kind), violation.message));
  return text;
}

}  // namespace

std::string check_junit(const std::vector<CheckedScenario>& all) {
  std::size_t failures = 0;
  std::size_t errors = 0;
  std::string cases;
  for (const CheckedScenario& checked : all) {
    cases += "  <testcase classname=\"foretrain.check\" name=\"" + xml_text(escaped(checked.file)) +
             "\"";
    if (checked.pass()) {
      cases += "/>\n";
      continue;
    }
    const bool error = !checked.errors.empty();
    error ? ++errors : ++failures;
    const std::string words = words_of(checked);
    const std::string tag = error ? "error" : "failure";
    cases += fmt::format(">\n    <{0} message=\"{1}\">{2}</{0}>\n  </testcase>\n", tag,
                         xml_text(words.substr(0, words.find('\n'))), xml_text(words));
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"foretrain check\" "
      "tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}</testsuite>\n",
      all.size(), failures, errors, cases);
}

std::string check_annotations(const std::vector<CheckedScenario>& all) {
  std::string text;
  for (const CheckedScenario& checked : all) {
    for (const Diagnostic& error : checked.errors)
      text += annotation(error.file.empty() ? checked.file : error.file, error.line, error.column,
                         "foretrain: scenario", error.path + ": " + error.message);
    // One annotation per kind: the tables have the rest.
    std::string drifts;
    for (const Violation& violation : checked.violations) {
      if (violation.kind == Violation::Kind::baseline)
        drifts += (drifts.empty() ? "" : "\n") + violation.message;
      else
        text += annotation(checked.file, violation.line, 0,
                           fmt::format("foretrain: {}", violation_name(violation.kind)),
                           violation.message);
    }
    if (!drifts.empty())
      text += annotation(checked.file, 0, 0, "foretrain: the forecast moved", drifts);
  }
  return text;
}

}  // namespace foretrain
