// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_head.hpp"

#include <fmt/format.h>

#include <cctype>

#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"
#include "planner/text/shell_word.hpp"

namespace foretrain {
namespace {

std::string range_text(const std::string& low, const std::string& high) {
  return low + " to " + high;
}

HeadFigure memory_figure(const MemoryForecast& memory) {
  const std::string usable = bytes_text(memory.usable) + " usable";
  if (memory.high <= memory.peak) return {"Memory", bytes_text(memory.peak), "of " + usable};
  return {"Memory", bytes_text(memory.peak), "up to " + bytes_text(memory.high) + ", of " + usable};
}

HeadFigure run_figure(const RunForecast& run) {
  const bool known = run.p10 && run.p90;
  if (never_finishes(run))
    return {"Time to train", "never", duration_text(*run.ideal) + " without interruptions"};
  return {"Time to train", duration_text(run.expected ? *run.expected : *run.ideal),
          known          ? range_text(duration_text(*run.p10), duration_text(*run.p90))
          : run.expected ? std::string()
                         : std::string("without interruptions")};
}

/// "$79.4 M", "3.81 M GPU-hours": no more digits than the band allows.
std::string short_dollars(Dollars price) { return "$" + count_text(price.value()); }

HeadFigure cost_figure(const CostForecast& cost) {
  const std::string hours = count_text(*cost.gpu_hours) + " GPU-hours";
  if (!cost.price)
    return {"Cost", hours,
            cost.low.gpu_hours
                ? range_text(count_text(*cost.low.gpu_hours), count_text(*cost.high.gpu_hours))
                : std::string()};
  std::string band = hours;
  if (cost.low.price)
    band =
        range_text(short_dollars(*cost.low.price), short_dollars(*cost.high.price)) + "; " + band;
  return {"Cost", short_dollars(*cost.price), band};
}

std::string machine_text(const Cluster& cluster) {
  const Device& device = cluster.host.device;
  return fmt::format("{} x {}", with_thousands(cluster.gpus()),
                     device.title.empty() ? device.name : device.title);
}

std::string feasible_sentence(const Report& report) {
  const Prediction& p = report.prediction;
  const std::string machine = machine_text(report.scenario.job.cluster);
  if (!p.step) return "The plan fits on " + machine + "; its time is not forecast.";
  std::string efficiency;
  if (p.efficiency && p.flops) efficiency = ", " + percent_text(p.efficiency->mfu) + " MFU";
  const std::string step = seconds_text(p.step->time);
  const auto duration = run_duration(p);
  if (!duration) return fmt::format("A step takes {} on {}{}.", step, machine, efficiency);
  std::string text =
      fmt::format("{} tokens in {} on {}: {} a step{}.", count_text(p.run.tokens.value_or(0.0)),
                  duration_text(*duration), machine, step, efficiency);
  const std::string deadline = deadline_sentence(p.run);
  return deadline.empty() ? text : text + " " + deadline;
}

std::string reason_sentence(const Infeasible& reason) {
  std::string text = reason.message + ".";
  if (!reason.remedy.empty()) text += " What helps: " + reason.remedy + ".";
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

/// The command that most people want after this answer.
std::string next_of(const Report& report, const std::string& source) {
  if (source.empty()) return {};
  if (!report.changes.empty())
    return fmt::format("foretrain simulate {} {}", source,
                       set_words(report.changes.front().settings));
  // A framework's configuration in place of a scenario ("--hf FILE") is nothing that `plan` reads.
  if (source.starts_with("--")) return fmt::format("foretrain explain {} step", source);
  return "foretrain plan " + source;
}

}  // namespace

std::vector<HeadFigure> report_figures(const Prediction& p) {
  std::vector<HeadFigure> figures;
  if (p.memory) figures.push_back(memory_figure(*p.memory));
  if (p.step)
    figures.push_back({"Step", seconds_text(p.step->time),
                       range_text(seconds_text(p.step->low), seconds_text(p.step->high))});
  if (p.if_it_fit) figures.push_back({"Step", seconds_text(p.if_it_fit->step.time), "if it fit"});
  if (p.run.expected || p.run.ideal) figures.push_back(run_figure(p.run));
  if (p.cost.gpu_hours) figures.push_back(cost_figure(p.cost));
  return figures;
}

AnswerHead report_head(const Report& report, const std::string& source) {
  if (report.study) {
    AnswerHead head = report.study->answer.head;
    if (!source.empty()) head.next = "foretrain plan " + source;
    return head;
  }
  const Prediction& p = report.prediction;
  AnswerHead head;
  head.subject = report.scenario.job.name;
  head.verdict = run_verdict(p);
  head.words = verdict_words(p);
  head.made_by = name_of(p.engine);
  head.sentence = p.feasible() ? feasible_sentence(report) : reason_sentence(p.reasons.front());
  head.figures = report_figures(p);
  head.next = next_of(report, source);
  return head;
}

}  // namespace foretrain
