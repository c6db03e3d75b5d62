// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "models/base/require.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 15;
constexpr std::size_t links_shown = 8;
constexpr std::size_t links_on_a_screen = 3;
constexpr std::size_t stages_on_a_screen = 4;
constexpr std::size_t warnings_on_a_screen = 4;
constexpr double least_on_a_screen = 0.001;  // of the step, for a part to have a line

/// Links with traffic, the busiest first, as a table.
std::string links_text(const Prediction& prediction, std::size_t shown, const TextStyle& style) {
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

std::string question_text(const Report& report, const TextStyle& style) {
  std::string result = "\n";
  for (const auto& [label, text] : question_lines(report.scenario.job))
    result += labelled(label, text, style, label_columns);
  return result;
}

/// @param from reasons before it are left out
std::string reasons_text(const Report& report, std::size_t from, const TextStyle& style) {
  std::string result;
  const std::vector<Infeasible>& reasons = report.prediction.reasons;
  for (std::size_t i = from; i < reasons.size(); ++i) {
    const Infeasible& reason = reasons[i];
    result +=
        "\n" + hanging("", toned("Not feasible", Tone::bad, style) + ": " + reason.message, style);
    result += labelled("rule", reason.rule, style, label_columns);
    if (!reason.key.empty()) result += labelled("key", reason.key, style, label_columns);
    if (!reason.remedy.empty())
      result += labelled("what helps", reason.remedy, style, label_columns);
  }
  return result + changes_text(report.changes, style);
}

std::string answers_text(const SummaryLines& lines, const TextStyle& style) {
  std::string result;
  for (const auto& [label, text] : lines) result += labelled(label, text, style, label_columns);
  return result;
}

/// What the head does not say.
SummaryLines other_answers(const Report& report) {
  constexpr std::array<std::string_view, 9> said{
      "Memory", "Step",           "MFU",           "HFU",       "Cost",
      "Energy", "  at the meter", "Time to train", "  expected"};
  SummaryLines lines = answer_lines(report);
  std::erase_if(lines, [&](const auto& line) {
    return std::find(said.begin(), said.end(), line.first) != said.end();
  });
  return lines;
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
  for (const auto& [label, text] : lines) result += labelled(label, text, style, label_columns);
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

/// A line for what --full has at length.
std::string folded(std::string_view label, const std::string& text, const TextStyle& style) {
  if (text.empty()) return "";
  return pad_right(label, label_columns) + cut(text, style.width - label_columns) + "\n";
}

std::string energy_line(const CostForecast& cost) {
  if (!cost.energy) return "";
  std::string text = cost.low.energy ? energy_range_text(cost) + " at the meter"
                                     : energy_text(*cost.energy) + ", GPUs alone";
  if (cost.power) text += ", " + significant_text(cost.power->value() / 1000.0) + " kW";
  return text;
}

std::string unknown_line(const Prediction& p) {
  std::string names;
  for (const Warning& warning : p.warnings)
    if (constexpr std::string_view prefix = "unknown-"; warning.id.starts_with(prefix))
      names += (names.empty() ? "" : ", ") + warning.id.substr(prefix.size());
  return names;
}

std::string warning_lines(const Prediction& p, const TextStyle& style) {
  std::string result;
  std::size_t told = 0;
  std::size_t more = 0;
  for (const Warning& warning : p.warnings) {
    // What is unknown, and energy, have a line of their own.
    if (warning.id.starts_with("unknown-") || warning.id.starts_with("energy-")) continue;
    if (told == warnings_on_a_screen) {
      ++more;
      continue;
    }
    ++told;
    const std::string line = cut(warning.id + ": " + warning.message, style.width - 2);
    result += "  " + toned(line, Tone::warn, style) + "\n";
  }
  if (more > 0) result += fmt::format("  and {} more\n", more);
  return result.empty() ? result : section("Warnings", style) + result;
}

std::string constants_line(const Prediction& p) {
  std::string text;
  for (const auto& [name, layer] :
       {std::pair{"device", &p.device}, std::pair{"kernels", &p.kernels},
        std::pair{"collectives", &p.collectives}, std::pair{"stack", &p.stack}})
    if (!layer->source.empty())
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          layer->own_file.empty() ? name_of(layer->trust) : "your own");
  return text;
}

/// What --full has, in a line each.
std::string folded_text(const Report& report, const TextStyle& style) {
  const Prediction& p = report.prediction;
  std::string text = warning_lines(p, style);
  const std::string lines = folded("Energy", energy_line(p.cost), style) +
                            folded("Unknown", unknown_line(p), style) +
                            folded("Constants", constants_line(p), style);
  if (!lines.empty()) text += "\n" + lines;
  return text + folded("More", "--full: memory row by row, energy, warnings, sources", style);
}

std::string step_section(const Report& report, const TextStyle& style, bool full) {
  const Prediction& p = report.prediction;
  if (!p.flops || (!p.step && !p.if_it_fit)) return "";
  return section(p.step ? "Where the step goes" : "Where the step would go if it fit", style) +
         waterfall_text(report.scenario.job, as_if_it_fit(p), style,
                        full ? 0.0 : least_on_a_screen);
}

/// What the head's reason is called, for those who look it up.
std::string rule_text(const Prediction& p, const TextStyle& style) {
  if (p.feasible()) return "";
  const Infeasible& first = p.reasons.front();
  return labelled("Rule", first.rule + (first.key.empty() ? "" : ", key " + first.key), style,
                  label_columns);
}

/// The parts below the head.
std::string body(const Report& report, const TextStyle& style, bool full) {
  const Prediction& p = report.prediction;
  // The head has the first reason.
  std::string result = question_text(report, style);
  const std::string answers =
      answers_text(full ? answer_lines(report) : other_answers(report), style);
  if (full)
    result += reasons_text(report, 0, style) + "\n" + answers;
  else
    result += rule_text(p, style) + answers + reasons_text(report, 1, style);
  if (p.memory)
    result += "\n" + (full ? memory_text(*p.memory, style)
                           : memory_stacks_text(*p.memory, StageOrder::pipeline, style,
                                                stages_on_a_screen));
  result += step_section(report, style, full);
  if (!p.links.empty())
    result += section("Busiest links", style) +
              links_text(p, full ? links_shown : links_on_a_screen, style);
  result += budget_section(report, style);
  return result +
         (full ? warnings_text(p, style) + provenance_text(p, style) : folded_text(report, style));
}

/// Parts shorter than `least` as one, "other parts", at the end.
std::vector<WaterfallPart> with_small_summed(std::vector<WaterfallPart> parts, Seconds least) {
  WaterfallPart rest{"other", "other parts", {}};
  int summed = 0;
  for (const WaterfallPart& part : parts) {
    if (max(part.time, -part.time) >= least) continue;
    rest.time += part.time;
    ++summed;
  }
  if (summed < 2) return parts;
  std::erase_if(parts, [&](const auto& part) { return max(part.time, -part.time) < least; });
  parts.push_back(rest);
  return parts;
}

}  // namespace

std::string waterfall_text(const Job& job, const Prediction& prediction, const TextStyle& style,
                           double least) {
  FORETRAIN_REQUIRE(prediction.step.has_value());
  const std::vector<WaterfallPart> parts =
      with_small_summed(waterfall(job, prediction), least * prediction.step->time);
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

std::string report_text(const Report& report, const TextStyle& style, ReportLength length,
                        const std::string& source) {
  const std::string head = head_text(report_head(report, source), style);
  if (length == ReportLength::brief) return head;
  return head + body(report, style, length == ReportLength::full);
}

}  // namespace foretrain
