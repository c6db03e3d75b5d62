// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_answer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>

#include "models/base/ranges.hpp"
#include "models/base/require.hpp"
#include "planner/forecast/measured_run.hpp"
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
constexpr double least_on_a_screen = 0.001;  // of the step, for a part to have a line

/// Links with traffic, the busiest first.
AnswerTable links_table(const Prediction& prediction, std::size_t shown) {
  AnswerTable table{{words_column("link"), number_column("bytes"), number_column("utilisation")}};
  for (std::size_t i = 0; i < std::min(shown, prediction.links.size()); ++i) {
    const LinkUse& link = prediction.links[i];
    table.add({link.name, bytes_text(link.bytes), percent_text(link.utilisation)});
  }
  return table;
}

AnswerFacts facts_of(const SummaryLines& lines) {
  AnswerFacts facts;
  facts.label_columns = label_columns;
  for (const auto& [label, text] : lines) facts.add(label, text);
  return facts;
}

/// What the head does not say.
SummaryLines other_answers(const Report& report) {
  constexpr std::array<std::string_view, 11> said{
      "Memory",  "Step",          "MFU",        "HFU",        "Cost", "Energy",
      "  range", "Time to train", "  expected", "  deadline", "Power"};
  SummaryLines lines = answer_lines(report);
  std::erase_if(lines, [&](const auto& line) { return contains(said, line.first); });
  return lines;
}

/// What is merely unknown reads as one paragraph; everything else has a line of its own.
void add_warnings(const Prediction& p, Answer& answer) {
  AnswerSection warnings{"Warnings"};
  std::string unknown;
  for (const Warning& warning : p.warnings) {
    if (warning.id.starts_with("unknown-"))
      unknown += (unknown.empty() ? "" : "; ") + warning.message;
    else
      warnings.blocks.emplace_back(AnswerLine{warning.message, warning.id + ": ", Tone::warn});
  }
  answer.add(std::move(warnings));
  if (!unknown.empty()) answer.add("Unknown", AnswerLine{unknown + "."});
}

AnswerSection budget_section(const Report& report) {
  AnswerSection section{"Budget"};
  for (const BudgetVerdict& verdict : report.budget)
    section.blocks.emplace_back(AnswerLine{budget_text(verdict), verdict.pass ? "PASS  " : "FAIL  ",
                                           verdict.pass ? Tone::good : Tone::bad});
  return section;
}

std::string energy_line(const CostForecast& cost, const std::optional<PowerForecast>& power) {
  if (!cost.energy) return "";
  std::string text =
      cost.low.energy ? energy_range_text(cost) : energy_text(*cost.energy) + ", GPUs alone";
  if (cost.power) text += ", " + significant_text(cost.power->value() / 1000.0) + " kW";
  if (power) text += ", peak " + significant_text(power->peak.value() / 1000.0) + " kW";
  return text;
}

/// What measures against peaks and swings cost.
AnswerSection power_section(const Report& report) {
  AnswerTable table{{words_column("power"), number_column("step"), number_column("energy"),
                     number_column("kernels"), number_column("waiting")}};
  for (const PowerLever& lever : report.power_levers) {
    const PowerLever& now = report.power_levers.front();
    const bool first = &lever == &now;
    const auto change = [&](double ratio) {
      return first ? std::string("-") : fmt::format("{:+.1f} %", 100.0 * (ratio - 1.0));
    };
    table.add({lever.name, first ? seconds_text(now.step) : change(lever.step / now.step),
               first ? energy_text(now.energy) : change(lever.energy / now.energy),
               significant_text(lever.peak.value() / 1000.0) + " kW",
               significant_text(lever.waiting.value() / 1000.0) + " kW"});
  }
  return {"What limits of power cost, in shares of a GPU's busy power", {std::move(table)}};
}

std::string unknown_line(const Prediction& p) {
  std::string names;
  for (const Warning& warning : p.warnings)
    if (constexpr std::string_view prefix = "unknown-"; warning.id.starts_with(prefix))
      names += (names.empty() ? "" : ", ") + warning.id.substr(prefix.size());
  return names;
}

/// The first of the settings without effect, and how many there are.
std::string no_effect_line(const Prediction& p) {
  for (const Warning& warning : p.warnings) {
    if (warning.id != no_effect_id) continue;
    const std::string all = warning.message.substr(warning.message.find(": ") + 2);
    const std::size_t end = all.find("; ");
    const auto more = std::ranges::count(all, ';');
    return more == 0 ? all : fmt::format("{} and {} more", all.substr(0, end), more);
  }
  return "";
}

/// Which there are and how often; --full has their words.
std::string warnings_line(const Prediction& p) {
  std::map<std::string, int> count;
  for (const Warning& warning : p.warnings)
    // What is unknown, energy, and settings without effect have a line of their own.
    if (!warning.id.starts_with("unknown-") && !warning.id.starts_with("energy-") &&
        warning.id != no_effect_id)
      ++count[warning.id];
  std::string text;
  for (const auto& [id, times] : count)
    text += (text.empty() ? "" : ", ") + id + (times > 1 ? fmt::format(" ({})", times) : "");
  return text;
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
void add_folded(const Report& report, Answer& answer) {
  const Prediction& p = report.prediction;
  AnswerFacts facts;
  facts.label_columns = label_columns;
  for (const auto& [label, text] :
       {std::pair<const char*, std::string>{"Energy", energy_line(p.cost, p.power)},
        {"Unknown", unknown_line(p)},
        {"Warnings", warnings_line(p)},
        {"No effect", no_effect_line(p)},
        {"Constants", constants_line(p)},
        {"More", "--full: memory row by row, energy, warnings, sources"}})
    if (!text.empty()) facts.add(label, text);
  answer.add("", std::move(facts));
}

void add_step(const Report& report, bool full, Answer& answer) {
  const Prediction& p = report.prediction;
  if (!p.flops || (!p.step && !p.if_it_fit)) return;
  answer.add(std::string(step_title) + (p.step ? "goes" : "would go if it fit"),
             waterfall_table(report.scenario.job, as_if_it_fit(p), full ? 0.0 : least_on_a_screen));
}

/// The parts below the head.
void add_body(const Report& report, bool full, Answer& answer) {
  const Prediction& p = report.prediction;
  SummaryLines question = question_lines(report.scenario.job);
  if (full) {
    answer.add("", facts_of(question));
    for (const Infeasible& reason : p.reasons) answer.add(reason_section(reason));
    answer.add(changes_section(report.changes));
    answer.add("", facts_of(answer_lines(report)));
    answer.add(p.if_it_fit ? "Forecast and its band, if it fit" : "Forecast and its band",
               bands_table(as_if_it_fit(p)), AnswerPlace::pages);
  } else {
    // The head has the first reason.
    if (!p.feasible()) {
      const Infeasible& first = p.reasons.front();
      question.emplace_back("Rule", first.rule + (first.key.empty() ? "" : ", key " + first.key));
    }
    const SummaryLines others = other_answers(report);
    question.insert(question.end(), others.begin(), others.end());
    answer.add("", facts_of(question));
    for (std::size_t i = 1; i < p.reasons.size(); ++i) answer.add(reason_section(p.reasons[i]));
    answer.add(changes_section(report.changes));
  }
  answer.add(measured_section(report));
  if (p.memory)
    answer.add(memory_section(*p.memory, StageOrder::pipeline, full ? 16 : stages_on_a_screen));
  if (p.memory && full && !p.memory->stages.empty()) {
    answer.add(
        {"Memory by category", {memory_categories_table(*p.memory)}, AnswerPlace::pages, true});
    answer.add(memory_rows_section(heaviest_stage(*p.memory)));
    answer.sections.back().folded = true;
  }
  add_step(report, full, answer);
  if (!p.links.empty())
    answer.add("Busiest links", links_table(p, full ? links_shown : links_on_a_screen));
  if (full) {
    answer.add("Where the run goes", run_table(p.run), AnswerPlace::pages);
    answer.add("What it costs", cost_table(p), AnswerPlace::pages);
    if (!report.power_levers.empty()) answer.add(power_section(report));
  }
  answer.add(budget_section(report));
  if (!full) return add_folded(report, answer);
  add_warnings(p, answer);
  answer.add(sources_section(p));
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

AnswerTable waterfall_table(const Job& job, const Prediction& prediction, double least) {
  FORETRAIN_REQUIRE(prediction.step.has_value());
  const std::vector<WaterfallPart> parts =
      with_small_summed(waterfall(job, prediction), least * prediction.step->time);
  const Seconds step = prediction.step->time;
  // Very long sequences can make the ideal longer than the step: the bars must still fit.
  Seconds scale = step;
  Seconds reach;
  for (const WaterfallPart& part : parts) scale = max(scale, reach += part.time);
  AnswerTable table{{words_column(), number_column(), number_column(), words_column()}};
  const auto line = [&](const std::string& label, Seconds time, double from, double to, Tone tone) {
    table.add({{label, tone}, seconds_text(time), percent_text(time / step), AnswerBar{from, to}});
  };
  Seconds at;
  for (const WaterfallPart& part : parts) {
    line(part.label, part.time, at / scale, (at + part.time) / scale, Tone::plain);
    at += part.time;
  }
  line("= step", step, 0.0, step / scale, Tone::strong);
  return table;
}

AnswerSection changes_section(const std::vector<Change>& changes) {
  AnswerTable table{{number_column("step"), number_column("peak"), words_column("--set")}};
  const std::size_t shown = std::min<std::size_t>(changes.size(), 6);
  for (std::size_t i = 0; i < shown; ++i)
    table.add({step_text(changes[i]), bytes_text(changes[i].peak), changes[i].text()});
  const bool some_give_up =
      std::any_of(changes.begin(), changes.begin() + static_cast<std::ptrdiff_t>(shown),
                  [](const Change& change) { return !change.gives_up.empty(); });
  return {some_give_up
              ? "Changes that fit with room to spare: those that give nothing up, fastest first, "
                "then the others"
              : "Changes that fit with room to spare, fastest first",
          {std::move(table)}};
}

AnswerSection sources_section(const Prediction& prediction) {
  return {sources_title, {facts_of(provenance_lines(prediction))}};
}

AnswerSection reason_section(const Infeasible& reason) {
  AnswerFacts facts;
  facts.label_columns = label_columns;
  facts.add("rule", reason.rule);
  if (!reason.key.empty()) facts.add("key", reason.key);
  if (!reason.remedy.empty()) facts.add("what helps", reason.remedy);
  return {"", {AnswerLine{reason.message, "Not feasible: ", Tone::bad}, std::move(facts)}};
}

Answer report_answer(const Report& report, ReportLength length, const std::string& source) {
  Answer answer{report_head(report, source)};
  if (length == ReportLength::brief) return answer;
  if (!report.study) {
    add_body(report, length == ReportLength::full, answer);
    return answer;
  }
  for (const AnswerSection& section : report.study->answer.sections) answer.add(section);
  answer.add(budget_section(report));
  return answer;
}

std::string report_text(const Report& report, const TextStyle& style) {
  return answer_text(report_answer(report), style);
}

std::string report_markdown(const Report& report) { return answer_markdown(report_answer(report)); }

}  // namespace foretrain
