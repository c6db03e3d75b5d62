// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/answer/quantity.hpp"
#include "planner/check/check.hpp"
#include "planner/text/markdown.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/svg_text.hpp"
#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {
namespace {

constexpr std::size_t shown_drifts = 12;
constexpr std::string_view step_prefix = "step.breakdown.";
constexpr std::string_view stage_prefix = "memory.stages.";

/// Sums of a stage's parts.
bool is_stage_sum(std::string_view path) {
  return path.ends_with(".peak_bytes") || path.ends_with(".allocated_bytes");
}

std::string percent(const Drift& moved) {
  const auto relative = moved.change();
  return relative ? fmt::format("{:+.2f} %", 100.0 * *relative) : "-";
}

/// What the parts under `prefix` moved, largest first: they sum to what their total moved.
std::vector<Drift> moved_parts(const CheckedScenario& checked, std::string_view prefix) {
  std::vector<Drift> parts;
  for (const Drift& moved : checked.drifts)
    if (moved.path.starts_with(prefix) && moved.before && moved.after) parts.push_back(moved);
  std::stable_sort(parts.begin(), parts.end(), [](const Drift& a, const Drift& b) {
    return std::abs(*a.after - *a.before) > std::abs(*b.after - *b.before);
  });
  return parts;
}

/// A table of parts: `amount` writes how much one moved, without its sign.
template <class Amount>
std::string waterfall(const std::string& title, const std::vector<Drift>& parts,
                      const Amount& amount) {
  if (parts.empty()) return {};
  std::string text = "\n" + title + "\n\n| part | baseline | now | change |\n|:--|--:|--:|--:|\n";
  for (const Drift& part : parts) {
    const std::string name = part.path.substr(part.path.rfind('.') + 1);
    const double moved = *part.after - *part.before;
    text += fmt::format("| {} | {} | {} | {}{} |\n", name.substr(0, name.rfind('_')),
                        quantity_text(part.path, part.before), quantity_text(part.path, part.after),
                        moved < 0.0 ? "-" : "+", amount(std::abs(moved)));
  }
  return text;
}

std::string step_waterfall(const CheckedScenario& checked) {
  return waterfall("Where the step's time went:", moved_parts(checked, step_prefix),
                   [](double moved) { return seconds_text(Seconds{moved}); });
}

/// Of the heaviest stage. Sums of its parts are in the table of numbers.
std::string memory_waterfall(const CheckedScenario& checked) {
  std::vector<Drift> parts = moved_parts(checked, stage_prefix);
  std::erase_if(parts, [](const Drift& part) { return is_stage_sum(part.path); });
  return waterfall("Where the memory of the heaviest stage went:", parts,
                   [](double moved) { return bytes_text(Bytes{moved}); });
}

std::string markdown_of(const CheckedScenario& checked) {
  std::string text = "\n### " + markdown_cell(escaped(checked.file)) + "\n\n";
  for (const Diagnostic& error : checked.errors) text += "- " + markdown_cell(error.text()) + "\n";
  for (const Violation& violation : checked.violations)
    if (violation.kind != Violation::Kind::baseline)
      text += fmt::format("- {}: ", violation_name(violation.kind)) +
              markdown_cell(violation.message) + "\n";
  if (checked.drifts.empty()) {
    for (const Violation& violation : checked.violations)
      if (violation.kind == Violation::Kind::baseline)
        text += "- baseline: " + markdown_cell(violation.message) + "\n";
    return text;
  }
  text += "| number | baseline | now | change |\n|:--|--:|--:|--:|\n";
  for (const Drift& moved : checked.drifts) {
    if (moved.path.starts_with(step_prefix)) continue;
    if (moved.path.starts_with(stage_prefix) && !is_stage_sum(moved.path)) continue;
    text += fmt::format("| `{}` | {} | {} | {} |\n", moved.path,
                        quantity_text(moved.path, moved.before),
                        quantity_text(moved.path, moved.after), percent(moved));
  }
  return text + memory_waterfall(checked) + step_waterfall(checked);
}

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

std::string check_text(const std::vector<CheckedScenario>& all, const TextStyle& style) {
  std::string text;
  std::size_t passed = 0;
  for (const CheckedScenario& checked : all) {
    passed += checked.pass() ? 1 : 0;
    const std::string verdict = !checked.errors.empty() ? "ERROR  "
                                : checked.pass()        ? "PASS   "
                                                        : "FAIL   ";
    text += hanging(verdict, escaped(checked.file), style);
    for (const Diagnostic& error : checked.errors) text += hanging("    ", error.text(), style);
    std::size_t shown = 0;
    for (const Violation& violation : checked.violations)
      if (++shown <= shown_drifts)
        text += hanging("    ",
                        fmt::format("{}: {}", violation_name(violation.kind), violation.message),
                        style);
    if (shown > shown_drifts) text += fmt::format("    and {} more\n", shown - shown_drifts);
  }
  return text + fmt::format("{} of {} scenarios pass\n", passed, all.size());
}

std::string check_markdown(const std::vector<CheckedScenario>& all) {
  const auto passed = std::count_if(all.begin(), all.end(),
                                    [](const CheckedScenario& checked) { return checked.pass(); });
  std::string text = fmt::format("## Forecasts: {} of {} as expected\n", passed, all.size());
  for (const CheckedScenario& checked : all)
    if (!checked.pass()) text += markdown_of(checked);
  return text;
}

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
