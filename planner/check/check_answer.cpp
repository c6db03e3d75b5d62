// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "planner/answer/quantity.hpp"
#include "planner/check/check.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"
#include "planner/text/svg_text.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {
namespace {

constexpr std::size_t shown_violations = 12;
constexpr std::size_t shown_figures = 4;
constexpr std::string_view step_prefix = "step.breakdown.";
constexpr std::string_view stage_prefix = "memory.stages.";

/// Sums of a stage's parts.
bool is_stage_sum(std::string_view path) {
  return path.ends_with(".peak_bytes") || path.ends_with(".allocated_bytes");
}

AnswerTable moved_table(const char* what) {
  return {{words_column(what), number_column("baseline"), number_column("now"),
           number_column("change")}};
}

/// What the parts under `prefix` moved, largest first: they sum to what their total moved.
template <class Amount>
AnswerTable parts_table(const CheckedScenario& checked, std::string_view prefix,
                        const Amount& amount) {
  std::vector<Drift> parts;
  for (const Drift& moved : checked.drifts)
    if (moved.path.starts_with(prefix) && moved.before && moved.after && !is_stage_sum(moved.path))
      parts.push_back(moved);
  std::ranges::stable_sort(parts, [](const Drift& a, const Drift& b) {
    return std::abs(*a.after - *a.before) > std::abs(*b.after - *b.before);
  });
  AnswerTable table = moved_table("part");
  for (const Drift& part : parts) {
    const std::string name = part.path.substr(part.path.rfind('.') + 1);
    const double moved = *part.after - *part.before;
    table.add({name.substr(0, name.rfind('_')), quantity_text(part.path, part.before),
               quantity_text(part.path, part.after),
               (moved < 0.0 ? "-" : "+") + amount(std::abs(moved))});
  }
  return table;
}

AnswerTable numbers_table(const CheckedScenario& checked) {
  AnswerTable table = moved_table("number");
  for (const Drift& moved : checked.drifts) {
    if (moved.path.starts_with(step_prefix)) continue;
    if (moved.path.starts_with(stage_prefix) && !is_stage_sum(moved.path)) continue;
    const auto relative = moved.change();
    table.add({moved.path, quantity_text(moved.path, moved.before),
               quantity_text(moved.path, moved.after),
               relative ? fmt::format("{:+.2f} %", 100.0 * *relative) : "-"});
  }
  return table;
}

/// Tables of what moved, and the parts that moved it: for pages and pull requests.
void add_tables(const CheckedScenario& checked, Answer& answer) {
  const std::string of = ": " + escaped(checked.file);
  answer.add("What moved" + of, numbers_table(checked), AnswerPlace::pages);
  answer.add(
      "Where the memory of the heaviest stage went" + of,
      parts_table(checked, stage_prefix, [](double moved) { return bytes_text(Bytes{moved}); }),
      AnswerPlace::pages);
  answer.add(
      "Where the step's time went" + of,
      parts_table(checked, step_prefix, [](double moved) { return seconds_text(Seconds{moved}); }),
      AnswerPlace::pages);
}

/// What is wrong, a line each.
AnswerSection wrong_section(const CheckedScenario& checked) {
  AnswerSection section{escaped(checked.file)};
  for (const Diagnostic& error : checked.errors)
    section.blocks.emplace_back(AnswerLine{error.text()});
  const std::size_t count = checked.violations.size();
  for (std::size_t i = 0; i < std::min(count, shown_violations); ++i)
    section.blocks.emplace_back(
        AnswerLine{checked.violations[i].message,
                   fmt::format("{}: ", violation_name(checked.violations[i].kind)), Tone::bad});
  if (count > shown_violations)
    section.blocks.emplace_back(AnswerLine{fmt::format("and {} more", count - shown_violations)});
  return section;
}

AnswerCell word_of(const CheckedScenario& checked) {
  if (!checked.errors.empty()) return {"ERROR", Tone::bad};
  return checked.pass() ? AnswerCell{"PASS", Tone::good} : AnswerCell{"FAIL", Tone::bad};
}

/// Explains what moved, looks for a plan that keeps what is broken, or shows what passed.
std::string next_of(const std::vector<CheckedScenario>& all) {
  const CheckedScenario* moved = nullptr;
  const CheckedScenario* unguarded = nullptr;
  for (const CheckedScenario& checked : all) {
    if (!checked.errors.empty()) return "";
    for (const Violation& violation : checked.violations)
      if (violation.kind == Violation::Kind::budget ||
          violation.kind == Violation::Kind::infeasible)
        return shell_words({"foretrain", "plan", checked.file});
    if (!checked.pass()) (checked.drifts.empty() ? unguarded : moved) = &checked;
  }
  if (moved != nullptr)
    return shell_words({"foretrain", "explain", moved->file, moved->drifts.front().path});
  if (unguarded != nullptr) return shell_words({"foretrain", "check", unguarded->file, "--update"});
  return shell_words({"foretrain", "simulate", all.front().file});
}

/// What leads among the numbers that moved.
void add_moved_figures(const CheckedScenario& checked, AnswerHead& head) {
  for (const DriftGroup& group : grouped(checked.drifts)) {
    if (head.figures.size() == shown_figures) return;
    const Drift& lead = group.lead;
    const auto relative = lead.change();
    head.figures.push_back(
        {lead.path, quantity_text(lead.path, lead.after), "",
         "was " + quantity_text(lead.path, lead.before) +
             (relative ? fmt::format(" ({:+.1f} %)", 100.0 * *relative) : std::string())});
  }
}

AnswerHead head_of(const std::vector<CheckedScenario>& all) {
  AnswerHead head;
  const auto count = [&](auto test) { return std::ranges::count_if(all, test); };
  const auto passed = count([](const CheckedScenario& one) { return one.pass(); });
  const auto broken = count([](const CheckedScenario& one) { return !one.errors.empty(); });
  const bool pass = passed == static_cast<std::ptrdiff_t>(all.size());
  head.subject = "Forecasts against budgets and baselines";
  head.verdict = pass ? Verdict::safe : Verdict::no;
  head.words = pass ? "PASS" : broken > 0 ? "ERROR" : "FAIL";
  head.sentence = fmt::format("{} of {} scenarios pass.", passed, all.size());
  if (broken > 0) head.sentence += fmt::format(" {} cannot be read.", broken);
  if (count([](const CheckedScenario& one) { return !one.drifts.empty() && !one.pass(); }) > 0)
    head.sentence += " Where a change is meant, --update accepts it.";
  head.figures.push_back({"pass", fmt::format("{} of {}", passed, all.size())});
  for (const CheckedScenario& checked : all) add_moved_figures(checked, head);
  head.next = next_of(all);
  return head;
}

}  // namespace

Answer check_answer(const std::vector<CheckedScenario>& all) {
  Answer answer{head_of(all)};
  AnswerTable table{{words_column(), words_column()}};
  for (const CheckedScenario& checked : all) {
    table.add({word_of(checked), escaped(checked.file)});
    if (!checked.pass()) answer.add(wrong_section(checked));
  }
  for (const CheckedScenario& checked : all) add_tables(checked, answer);
  answer.add("Scenarios", std::move(table));
  return answer;
}

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
