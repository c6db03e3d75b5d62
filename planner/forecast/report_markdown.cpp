// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_markdown.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

std::string row(const std::vector<std::string>& cells) {
  std::string result = "|";
  for (const std::string& cell : cells) result += " " + markdown_cell(cell) + " |";
  return result + "\n";
}

std::string summary_table(const Report& report) {
  std::string result = "| | |\n|:--|:--|\n";
  for (const auto& [label, text] : question_lines(report.scenario.job))
    result += row({label, text});
  for (const auto& [label, text] : answer_lines(report)) {
    const std::size_t begin = label.find_first_not_of(' ');
    result += row({"**" + label.substr(begin) + "**", text});
  }
  return result;
}

std::string reasons_table(const Report& report) {
  const Prediction& p = report.prediction;
  if (p.feasible()) return "";
  std::string result = "\n| rule | key | problem | what helps |\n|:--|:--|:--|:--|\n";
  for (const Infeasible& r : p.reasons) result += row({r.rule, r.key, r.message, r.remedy});
  if (report.changes.empty()) return result;
  result += "\n| step after | peak after | change that fits |\n|--:|--:|:--|\n";
  const std::size_t shown = std::min<std::size_t>(report.changes.size(), 6);
  for (std::size_t i = 0; i < shown; ++i)
    result += row({step_text(report.changes[i]), bytes_text(report.changes[i].peak),
                   "`" + report.changes[i].text() + "`"});
  return result;
}

std::string memory_table(const MemoryForecast& memory) {
  if (memory.stages.empty()) return "";
  std::string result = fmt::format("\n**Memory per GPU**, {} usable of {}\n\n",
                                   bytes_text(memory.usable), bytes_text(memory.capacity));
  result +=
      "| stage | layers | weights | gradients | optimizer | activations | buffers | "
      "communication | context | fragmentation | peak | share |\n"
      "|:--|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n";
  const auto line = [&](const std::string& name, const StageMemory& s) {
    return row({name, std::to_string(s.layers), bytes_text(s.weights), bytes_text(s.gradients),
                bytes_text(s.optimizer), bytes_text(s.activations), bytes_text(s.buffers),
                bytes_text(s.communication), bytes_text(s.context), bytes_text(s.fragmentation),
                bytes_text(s.peak), percent_text(s.peak / memory.usable)});
  };
  for (const StageGroup& group : stage_groups(memory)) {
    const bool heaviest = group.first <= memory.peak_stage && memory.peak_stage <= group.last;
    std::string name = memory.replica ? heaviest_name(memory) : group.name(memory);
    if (heaviest) name = fmt::format("**{}**", name);
    result += line(name, memory.stages[static_cast<std::size_t>(group.first)]);
  }
  if (memory.replica) result += line("other GPUs", *memory.replica);
  return result;
}

std::string time_table(const Report& report) {
  const Prediction p = as_if_it_fit(report.prediction);
  if (!p.step || !p.flops) return "";
  std::string result =
      fmt::format("\n**Where the step {}**\n\n| part | time | share |\n|:--|--:|--:|\n",
                  p.if_it_fit ? "would go if it fit" : "goes");
  for (const WaterfallPart& part : waterfall(report.scenario.job, p))
    result += row({part.label, seconds_text(part.time), percent_text(part.time / p.step->time)});
  return result + row({"**step**", "**" + seconds_text(p.step->time) + "**", "**100.0 %**"});
}

std::string budget_table(const Report& report) {
  if (report.budget.empty()) return "";
  std::string result = "\n**Budget**\n\n| verdict | |\n|:--|:--|\n";
  for (const BudgetVerdict& v : report.budget)
    result += row({v.pass ? "PASS" : "**FAIL**", budget_text(v)});
  return result;
}

std::string notes(const Prediction& p) {
  std::string result;
  for (const Warning& w : p.warnings)
    result += fmt::format("- warning `{}`: {}\n", w.id, markdown_cell(w.message));
  for (const auto& [label, text] : provenance_lines(p))
    result += fmt::format("- {}: {}\n", label, markdown_cell(text));
  return result.empty() ? result : "\n" + result;
}

}  // namespace

std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\') result += '\\';
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string report_markdown(const Report& report) {
  const Prediction& p = report.prediction;
  return fmt::format("### {}: {}\n\n", markdown_cell(report.scenario.job.name), verdict_words(p)) +
         summary_table(report) + reasons_table(report) +
         (p.memory ? memory_table(*p.memory) : std::string()) + time_table(report) +
         budget_table(report) + notes(p) +
         fmt::format("\nforetrain {}, {}\n", version, name_of(p.engine));
}

}  // namespace foretrain
