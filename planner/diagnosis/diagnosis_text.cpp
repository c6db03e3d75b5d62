// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "calibration/diagnosis/hypothesis.hpp"
#include "calibration/imports/log_text.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr std::size_t most_shown = 5;  // causes with their evidence

std::string head(const char* title, const TextStyle& style) {
  return "\n" + toned(title, Tone::strong, style) + "\n";
}

std::string run_text(const DiagnosisReport& report, const TextStyle& style) {
  std::string text = head("What the run did", style);
  for (const auto& [label, line] : course_lines(report))
    text += labelled("  " + label, line, style, 16);
  return text;
}

std::string waterfall_text(const char* title, const std::vector<WaterfallLine>& lines,
                           const TextStyle& style) {
  constexpr int cells = 28;
  if (lines.empty()) return "";
  const double most = waterfall_top(lines);
  TextTable table{{TextTable::Align::left, TextTable::Align::right, TextTable::Align::left}};
  double at = 0.0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const bool end = i + 1 == lines.size();
    const double from = end || i == 0 ? 0.0 : at;
    const double to = from + lines[i].seconds;
    const bool part = i > 0 && !end;
    table.add({lines[i].label,
               (part && lines[i].seconds >= 0.0 ? "+" : "") + signed_seconds(lines[i].seconds),
               span_bar(std::max(0.0, from / most), std::max(0.0, to / most), cells, style)});
    at = to;
  }
  return head(title, style) + table.text(style);
}

std::string cause_text(const RankedCause& cause, std::size_t rank, const TextStyle& style) {
  std::string text = hanging(fmt::format("  {:>2}. ", rank), cause_head(cause), style);
  constexpr std::size_t most = 4;
  std::size_t shown = 0;
  for (const Evidence& evidence : cause.evidence) {
    if (shown++ == most) break;
    text += hanging(evidence.weight > 0.0 ? "      + " : "      - ", evidence.what, style);
  }
  if (cause.evidence.empty() && cause.id != as_forecast_id)
    text += "      nothing in the log speaks for or against it\n";
  if (!cause.test.empty()) text += hanging("      test: ", cause.test, style);
  return text;
}

std::string causes_text(const DiagnosisReport& report, const TextStyle& style) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::string text = head("Causes, by the time they are likely to cost", style);
  const std::size_t shown = std::min(std::max(most_shown, diagnosis.tied), diagnosis.causes.size());
  std::string rest;
  for (std::size_t i = 0; i < diagnosis.causes.size(); ++i) {
    const RankedCause& cause = diagnosis.causes[i];
    if (i < shown && cause.likelihood >= least_likelihood)
      text += cause_text(cause, i + 1, style);
    else
      rest += (rest.empty() ? "" : ", ") + cause.id;
  }
  if (!rest.empty()) text += hanging("      less likely: ", rest, style);
  if (diagnosis.tied > 1) text += hanging("  ", "Run the tests above to tell them apart.", style);
  return text;
}

std::string memory_causes_text(const Diagnosis& diagnosis, const TextStyle& style) {
  if (diagnosis.memory_causes.empty()) return "";
  TextTable table{{TextTable::Align::left, TextTable::Align::right}};
  for (const MemoryCause& one : diagnosis.memory_causes)
    table.add({one.setting, bytes_text(Bytes{one.bytes})});
  return head("Settings that would hold about as much memory", style) + table.text(style);
}

}  // namespace

std::string diagnosis_text(const DiagnosisReport& report, const TextStyle& style) {
  const Diagnosis& diagnosis = report.diagnosis;
  std::string text;
  for (const std::string& line : wrap(diagnosis_verdict(report), style.width))
    text += toned(line, Tone::strong, style) + "\n";
  text += run_text(report, style);
  text += waterfall_text("Step: from forecast to measurement", diagnosis.waterfall, style);
  text += waterfall_text(wall_title(diagnosis), diagnosis.wall_waterfall, style);
  if (!diagnosis.differences.empty()) {
    text += head("Log and scenario differ: the forecast is of another run", style);
    for (const SettingDifference& one : diagnosis.differences)
      text += hanging("  ",
                      fmt::format("{}: the log says {}, the scenario {}", one.key,
                                  plain_text(one.log, 40), one.scenario),
                      style);
  }
  text += causes_text(report, style);
  text += memory_causes_text(diagnosis, style);
  if (!diagnosis.missing.empty()) {
    text += head("Logs that would show more", style);
    for (const std::string& what : diagnosis.missing) text += hanging("  - ", what, style);
  }
  if (!report.assumptions.empty()) {
    text += head("Assumed where the log does not say", style);
    for (const std::string& what : report.assumptions) text += hanging("  - ", what, style);
  }
  return text;
}

}  // namespace foretrain
