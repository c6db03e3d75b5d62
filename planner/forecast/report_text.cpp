// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/base/require.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// Links with traffic, the busiest first, as a table.
std::string links_text(const Prediction& prediction, const TextStyle& style) {
  constexpr std::size_t shown = 8;
  using Align = TextTable::Align;
  TextTable table{{Align::left, Align::right, Align::right}};
  table.add({"link", "bytes", "utilisation"});
  for (std::size_t i = 0; i < std::min(shown, prediction.links.size()); ++i) {
    const LinkUse& link = prediction.links[i];
    table.add({link.name, bytes_text(link.bytes), percent_text(link.utilisation)});
  }
  return table.text(style);
}

std::string section(const std::string& title, const TextStyle& style) {
  return "\n" + toned(title, Tone::strong, style) + "\n";
}

std::string verdict_line(const Prediction& p, const TextStyle& style) {
  return toned(verdict_words(p), tone_of(run_verdict(p)), style);
}

std::string headline(const Report& report, const TextStyle& style) {
  const Job& job = report.scenario.job;
  const std::string verdict = verdict_line(report.prediction, style);
  const std::string engine =
      fmt::format(" (foretrain {}, {})", version, name_of(report.prediction.engine));
  const int room = style.width - display_width(verdict) - display_width(engine) - 2;
  std::string result =
      toned(cut(job.name, room), Tone::strong, style) + ": " + verdict + engine + "\n\n";
  for (const auto& [label, text] : question_lines(job)) result += labelled(label, text, style, 15);
  return result;
}

std::string reasons_text(const Report& report, const TextStyle& style) {
  std::string result;
  for (const Infeasible& reason : report.prediction.reasons) {
    result +=
        "\n" + hanging("", toned("Not feasible", Tone::bad, style) + ": " + reason.message, style);
    result += labelled("rule", reason.rule, style, 15);
    if (!reason.key.empty()) result += labelled("key", reason.key, style, 15);
    if (!reason.remedy.empty()) result += labelled("what helps", reason.remedy, style, 15);
  }
  return result + changes_text(report.changes, style);
}

std::string answers_text(const Report& report, const TextStyle& style) {
  const SummaryLines lines = answer_lines(report);
  if (lines.empty()) return "";
  std::string result = "\n";
  for (const auto& [label, text] : lines) result += labelled(label, text, style, 15);
  return result;
}

/// What is merely unknown reads as one paragraph; everything else has a line of its own.
std::string warnings_text(const Prediction& p, const TextStyle& style) {
  std::string result;
  std::string unknown;
  for (const Warning& warning : p.warnings) {
    if (warning.id.starts_with("unknown-"))
      unknown += (unknown.empty() ? "" : "; ") + warning.message;
    else
      result += hanging("  ", toned(warning.id, Tone::warn, style) + ": " + warning.message, style);
  }
  if (!result.empty()) result = section("Warnings", style) + result;
  if (!unknown.empty()) result += section("Unknown", style) + hanging("  ", unknown + ".", style);
  return result;
}

std::string provenance_text(const Prediction& p, const TextStyle& style) {
  const SummaryLines lines = provenance_lines(p);
  if (lines.empty()) return "";
  std::string result = section("Where the constants come from", style);
  for (const auto& [label, text] : lines) result += labelled(label, text, style, 15);
  return result;
}

std::string budget_section(const Report& report, const TextStyle& style) {
  if (report.budget.empty()) return "";
  std::string result = section("Budget", style);
  for (const BudgetVerdict& verdict : report.budget)
    result += hanging(
        "  " + toned(verdict.pass ? "PASS" : "FAIL", verdict.pass ? Tone::good : Tone::bad, style) +
            "  ",
        budget_text(verdict), style);
  return result;
}

}  // namespace

std::string waterfall_text(const Job& job, const Prediction& prediction, const TextStyle& style) {
  FORETRAIN_REQUIRE(prediction.step.has_value());
  const std::vector<WaterfallPart> parts = waterfall(job, prediction);
  const Seconds step = prediction.step->time;
  // Very long sequences can make the ideal longer than the step: the bars must still fit.
  Seconds scale = step;
  Seconds reach;
  for (const WaterfallPart& part : parts) scale = max(scale, reach += part.time);
  constexpr int label_columns = 24;
  const int cells = style.width - label_columns - 26;
  std::string result;
  const auto line = [&](const std::string& label, Seconds time, double from, double to, Tone tone) {
    std::string text = "  " + toned(pad_right(label, label_columns), tone, style) +
                       pad_left(seconds_text(time), 10) + pad_left(percent_text(time / step), 9) +
                       "  " + span_bar(from, to, cells, style);
    while (text.ends_with(' ')) text.pop_back();
    result += text + '\n';
  };
  Seconds at;
  for (const WaterfallPart& part : parts) {
    line(part.label, part.time, at / scale, (at + part.time) / scale, Tone::plain);
    at += part.time;
  }
  line("= step", step, 0.0, step / scale, Tone::strong);
  return result;
}

std::string changes_text(const std::vector<Change>& changes, const TextStyle& style) {
  if (changes.empty()) return "";
  using Align = TextTable::Align;
  TextTable table{{Align::right, Align::right, Align::left}};
  table.add({"step", "peak", "--set"});
  const std::size_t shown = std::min<std::size_t>(changes.size(), 6);
  for (std::size_t i = 0; i < shown; ++i)
    table.add({step_text(changes[i]), bytes_text(changes[i].peak), changes[i].text()});
  return section("Changes that fit with room to spare, fastest first", style) + table.text(style);
}

std::string report_text(const Report& report, const TextStyle& style) {
  const Prediction& p = report.prediction;
  std::string result = headline(report, style);
  result += reasons_text(report, style);
  result += answers_text(report, style);
  if (p.memory) result += "\n" + memory_text(*p.memory, style);
  if (p.step && p.flops) {
    result += section("Where the step goes", style);
    result += waterfall_text(report.scenario.job, p, style);
  } else if (p.if_it_fit && p.flops) {
    result += section("Where the step would go if it fit", style);
    result += waterfall_text(report.scenario.job, as_if_it_fit(p), style);
  }
  if (!p.links.empty()) result += section("Busiest links", style) + links_text(p, style);
  result += budget_section(report, style);
  result += warnings_text(p, style);
  result += provenance_text(p, style);
  return result;
}

}  // namespace foretrain
