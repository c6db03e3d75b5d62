// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/run_part.hpp"
#include "planner/forecast/goodput_study.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

std::string section(const std::string& title, const TextStyle& style) {
  return "\n" + toned(title, Tone::strong, style) + "\n";
}

std::string unknown_text(const GoodputStudy& study, const TextStyle& style) {
  std::string result;
  for (const Infeasible& reason : study.report.prediction.reasons)
    result += hanging("  ", reason.message, style);
  if (!study.missing.empty())
    result += hanging("  missing: ", fmt::format("{}", fmt::join(study.missing, ", ")), style);
  const std::string why = why_not_simulated(study);
  if (!why.empty()) result += hanging("  ", why, style);
  for (const Warning& warning : study.report.prediction.warnings)
    if (warning.id == "goodput-break-even" || warning.id == "no-progress" ||
        warning.id == "unknown-run" || warning.id == "batch-ramp")
      result += hanging("  ", warning.message, style);
  return result;
}

std::string duration_section(const GoodputStudy& study, const TextStyle& style) {
  const RunForecast& run = study.report.prediction.run;
  const RunSpread& spread = study.spread;
  std::string result = "\n";
  const auto& efficiency = study.report.prediction.efficiency;
  result += labelled(
      "Goodput",
      fmt::format("scheduling {} x runtime {} x program {} (MFU) = {}",
                  percent_text(*run.scheduling), percent_text(*run.runtime),
                  percent_text(efficiency->mfu), percent_text(*run.goodput * efficiency->mfu)),
      style, 15);
  const Seconds between = study.model->trace.empty() ? study.model->between : *run.between;
  result += labelled("Interruptions",
                     between > Seconds{}
                         ? fmt::format("{} expected, {} apart", fixed_text(*run.interruptions, 0),
                                       duration_text(between))
                         : "none",
                     style, 15);
  result += labelled("Checkpoints",
                     fmt::format("{} every {}; {} stall each, durable {} later",
                                 bytes_text(run.checkpoint), duration_text(study.model->every),
                                 seconds_text(study.model->stall), seconds_text(study.model->lag)),
                     style, 15);
  if (study.stopped)
    result +=
        labelled("Stopped", fmt::format("after {} simulated runs", with_thousands(spread.trials)),
                 style, 15);
  if (spread.meets_deadline)
    result += labelled(
        "Deadline", "met with a probability of " + percent_text(*spread.meets_deadline), style, 15);
  return result;
}

std::string split_section(const GoodputStudy& study, const TextStyle& style) {
  const RunSplit& split = *study.report.prediction.run.split;
  const RunSplit simulated = study.steady ? study.steady->split : RunSplit{};
  const auto simulated_text = [&](Seconds time) {
    return study.steady ? duration_text(time) : std::string("-");
  };
  TextTable table{{Align::left, Align::right, Align::right, Align::right}};
  table.add({"", "closed form", "share", "simulated"});
  for (const RunPart& part : run_parts()) {
    const auto row = part.time;
    // The simulation leaves rounding in rows that do not occur.
    if (max(split.*row, simulated.*row) < 1e-9 * split.total()) continue;
    table.add({std::string(part.label), duration_text(split.*row),
               percent_text(split.*row / split.total()), simulated_text(simulated.*row)});
  }
  table.add({"total", duration_text(split.total()), "", simulated_text(simulated.total())});
  return section("Where the time goes", style) + table.text(style);
}

std::string interval_section(const GoodputStudy& study, const TextStyle& style) {
  TextTable table{{Align::left, Align::right, Align::right, Align::right}};
  table.add({"checkpoint every", "", "goodput", "simulated"});
  for (const IntervalRow& row : study.intervals)
    table.add({row.name, duration_text(row.every), percent_text(row.closed_form),
               percent_text(row.simulated)});
  return section("Other checkpoint intervals", style) + table.text(style);
}

std::string life_section(const GoodputStudy& study, const TextStyle& style) {
  constexpr int cells = 30;
  TextTable table{{Align::right, Align::left, Align::right, Align::right, Align::right}};
  table.add({"day", "productive time", "", "stops", "time lost"});
  for (const LifeRow& row : life_rows(study.life)) {
    const Seconds length = row.to - row.from;
    const double share = std::max(0.0, 1.0 - (row.down + row.lost) / length);
    table.add({fixed_text(row.from.in(days), 0), span_bar(0.0, share, cells, style),
               percent_text(share), std::to_string(row.interruptions),
               duration_text(row.down + row.lost)});
  }
  return section("One simulated run", style) + table.text(style);
}

}  // namespace

AnswerHead goodput_head(const GoodputStudy& study, const std::string& source) {
  const Report& report = study.report;
  const RunForecast& run = report.prediction.run;
  AnswerHead head = report_head(report, source);
  if (!run.expected || !run.goodput) {
    if (report.prediction.feasible()) {
      head.verdict.reset();
      head.words = "goodput unknown";
    }
    return head;
  }
  head.words = "goodput " + percent_text(*run.goodput);
  if (run.meets_deadline) {
    head.verdict = *run.meets_deadline >= 0.9   ? Verdict::safe
                   : *run.meets_deadline >= 0.5 ? Verdict::at_risk
                                                : Verdict::no;
    head.sentence = fmt::format("The deadline is met with a probability of {}. ",
                                percent_text(*run.meets_deadline));
  } else {
    head.verdict.reset();
    head.sentence.clear();
  }
  head.sentence += fmt::format("{} of training takes {}: {} goes into {}.",
                               duration_text(*run.ideal), duration_text(*run.expected),
                               duration_text(*run.expected - *run.ideal), losses_text(*run.split));
  head.figures = {
      {"Time to train", duration_text(*run.expected),
       study.model ? duration_text(study.spread.p10) + " to " + duration_text(study.spread.p90)
                   : std::string(),
       duration_text(*run.ideal) + " without interruptions"},
      {"Goodput", percent_text(*run.goodput)}};
  head.next = source.empty() ? "" : "foretrain sensitivity " + source;
  return head;
}

std::string goodput_text(const GoodputStudy& study, const TextStyle& style,
                         const std::string& source) {
  std::string text = head_text(goodput_head(study, source), style);
  if (!study.model) return text + unknown_text(study, style);
  text += duration_section(study, style) + split_section(study, style);
  if (!study.intervals.empty()) text += interval_section(study, style);
  text += life_section(study, style);
  return text;
}

}  // namespace foretrain
