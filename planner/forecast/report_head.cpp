// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/report_head.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

#include "planner/answer/prediction_parts.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/forecast/report_answer.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/text/format.hpp"
#include "planner/text/quoting.hpp"

namespace foretrain {
namespace {

using BandEnd = std::optional<double>;

/// The forecast in the middle of the bar.
void add_band(AnswerTable& table, std::string_view path, BandEnd value, BandEnd low, BandEnd high) {
  if (!value) return;
  AnswerCell drawn{""};
  if (low && high && *low < *high) {
    const double reach = 3.2 * std::max(*high - *value, *value - *low);
    AnswerBar bar{0.5 + (*low - *value) / reach, 0.5 + (*high - *value) / reach};
    bar.mark = 0.5;
    drawn = bar;
  }
  const ValueRow& quantity = *quantities().find(path)->quantity;
  const auto text = [&](BandEnd end) {
    if (!end) return std::string();
    // Its label names the unit.
    return quantity.measure == Measure::token_rate ? fixed_text(*end, 0) : quantity_text(path, end);
  };
  table.add({std::string(quantity.label), text(value), text(low), text(high), drawn});
}

/// Parts of a whole, {name, size}, one behind the other.
AnswerTable whole_table(const std::vector<std::pair<std::string_view, double>>& parts,
                        std::string (*text)(double)) {
  double whole = 0.0;
  for (const auto& part : parts) whole += part.second;
  AnswerTable table{{words_column(), number_column(), number_column(), words_column()}};
  double at = 0.0;
  for (const auto& [name, size] : parts) {
    const double share = size / whole;
    table.add({std::string(name), text(size), percent_text(share), AnswerBar{at, at + share}});
    at += share;
  }
  return table;
}

}  // namespace

AnswerTable bands_table(const Prediction& p) {
  AnswerTable table{{words_column(), number_column("forecast"), number_column("10th percentile"),
                     number_column("90th percentile"), words_column()}};
  const auto number = [&](std::string_view path) -> BandEnd {
    return path.empty() ? std::nullopt : quantities().find(path)->number(p);
  };
  const auto row = [&](std::string_view path, std::string_view low, std::string_view high) {
    add_band(table, path, number(path), number(low), number(high));
  };
  row("memory.peak_bytes", "memory.low_bytes", "memory.high_bytes");
  row("step.time_s", "step.low_s", "step.high_s");
  // The band of the step carries over to what is proportional to it, directly or inversely.
  const auto scaled = [&](std::string_view path, bool inverse) {
    const BandEnd value = number(path);
    if (!value || !p.step) return;
    const double low = p.step->low / p.step->time;
    const double high = p.step->high / p.step->time;
    add_band(table, path, value, inverse ? *value / high : *value * low,
             inverse ? *value / low : *value * high);
  };
  scaled("mfu", true);
  scaled("tokens_per_s", true);
  if (p.run.expected)
    row("run.expected_s", "run.p10_s", "run.p90_s");
  else
    scaled("run.ideal_s", false);
  row("run.goodput", "", "");
  row("run.interruptions", "", "");
  row("cost.gpu_hours", "cost.gpu_hours_low", "cost.gpu_hours_high");
  row("cost.usd", "cost.price_low_usd", "cost.price_high_usd");
  return table;
}

AnswerTable run_table(const RunForecast& run) {
  std::vector<std::pair<std::string_view, double>> parts;
  if (run.split)
    for (const RunPart& part : run_parts())
      if (const Seconds time = (*run.split).*part.time; time > Seconds{})
        parts.emplace_back(part.label, time.value());
  return whole_table(parts, [](double size) { return duration_text(Seconds{size}); });
}

AnswerTable cost_table(const Prediction& p) {
  std::vector<std::pair<std::string_view, double>> parts;
  for (const ValueRow& row : quantities().rows())
    if (row.path.starts_with("cost.parts."))
      if (const auto price = QuantityAt{&row}.number(p)) parts.emplace_back(row.label, *price);
  return whole_table(parts, [](double size) { return dollars_text(Dollars{size}); });
}

namespace {

constexpr const char* if_it_fit = "if it fit";

std::string range_text(const std::string& low, const std::string& high) {
  return low + " to " + high;
}

KeyFigure memory_figure(const Prediction& p, const NumberUnits& units) {
  const auto text = [&](Bytes size) { return bytes_text(size, units); };
  HeadFigure figure{"Memory", "", "not forecast"};
  if (p.memory) {
    const MemoryForecast& memory = *p.memory;
    figure.value = text(memory.peak);
    const std::string band = memory.may_fit() ? text(memory.low) + " to " + text(memory.high)
                                              : "up to " + text(memory.high);
    figure.band =
        (memory.high <= memory.peak ? "of " : band + ", of ") + text(memory.usable) + " usable";
  }
  return {"memory.peak_bytes", std::move(figure)};
}

KeyFigure step_figure(const Prediction& p, const std::string& why, const NumberUnits& units) {
  const auto text = [&](Seconds time) { return seconds_text(time, units); };
  HeadFigure figure{"Step", "", why};
  if (p.step)
    figure = {"Step", text(p.step->time), range_text(text(p.step->low), text(p.step->high))};
  else if (p.if_it_fit)
    figure = {"Step", text(p.if_it_fit->step.time), if_it_fit};
  return {"step.time_s", std::move(figure)};
}

KeyFigure mfu_figure(const Prediction& p, const std::string& why) {
  HeadFigure figure{"MFU", "", why};
  if (p.if_it_fit)
    figure = {"MFU", percent_text(p.if_it_fit->efficiency.mfu), if_it_fit};
  else if (p.efficiency)
    figure = {"MFU", percent_text(p.efficiency->mfu),
              fmt::format("{} TFLOP/s per GPU, HFU {}",
                          significant_text(p.efficiency->model_tflops_per_gpu),
                          percent_text(p.efficiency->hfu))};
  return {"mfu", std::move(figure)};
}

KeyFigure throughput_figure(const Prediction& p, const std::string& why) {
  HeadFigure figure{"Throughput", "", why};
  const auto say = [&](const Efficiency& e, const std::string& detail) {
    figure.value = fixed_text(e.tokens_per_s, 0);
    figure.band = "tokens/s, " + detail;
  };
  if (p.if_it_fit)
    say(p.if_it_fit->efficiency, if_it_fit);
  else if (p.efficiency)
    say(*p.efficiency, significant_text(p.efficiency->tokens_per_s_per_gpu) + " per GPU");
  return {"tokens_per_s", std::move(figure)};
}

KeyFigure run_figure(const Prediction& p, const std::string& why) {
  const RunForecast& run = p.run;
  HeadFigure figure{"Time to train", "", why};
  if (never_finishes(run)) {
    figure.value = "never";
    figure.band = duration_text(*run.ideal) + " without interruptions";
  } else if (run.expected) {
    const bool known = run.p10 && run.p90;
    figure.value = duration_text(*run.expected);
    figure.band = known ? range_text(duration_text(*run.p10), duration_text(*run.p90)) : "";
  } else if (run.ideal) {
    figure.value = duration_text(*run.ideal);
    figure.band = "without interruptions";
  }
  return {run.expected ? "run.expected_s" : "run.ideal_s", std::move(figure)};
}

/// "$79.4 M", "3.81 M GPU-hours": no more digits than the band allows.
std::string short_dollars(Dollars price) { return "$" + count_text(price.value()); }

KeyFigure cost_figure(const Prediction& p, const std::string& why) {
  const CostForecast& cost = p.cost;
  if (!cost.gpu_hours) return {"cost.gpu_hours", {"Cost", "", why}};
  const std::string hours = count_text(*cost.gpu_hours) + " GPU-hours";
  if (!cost.price)
    return {"cost.gpu_hours",
            {"Cost", hours,
             cost.low.gpu_hours
                 ? range_text(count_text(*cost.low.gpu_hours), count_text(*cost.high.gpu_hours))
                 : std::string()}};
  std::string band = hours;
  if (cost.low.price)
    band =
        range_text(short_dollars(*cost.low.price), short_dollars(*cost.high.price)) + "; " + band;
  return {"cost.usd", {"Cost", short_dollars(*cost.price), band}};
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

namespace {

std::string sentence_of(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text + ".";
}

}  // namespace

std::string reason_sentence(const Infeasible& reason) {
  std::string text = sentence_of(reason.message);
  if (!reason.remedy.empty()) text += " What helps: " + reason.remedy + ".";
  return text;
}

std::vector<KeyFigure> key_figures(const Prediction& p, const NumberUnits& units) {
  const std::string why = p.feasible() ? "not forecast" : "the plan cannot run";
  const std::string no_run = p.step && !p.run.tokens ? "needs training.tokens" : why;
  return {memory_figure(p, units),   step_figure(p, why, units), mfu_figure(p, why),
          throughput_figure(p, why), run_figure(p, no_run),      cost_figure(p, no_run)};
}

std::vector<HeadFigure> report_figures(const Prediction& p) {
  std::vector<HeadFigure> figures;
  for (KeyFigure& key : key_figures(p))
    if (!key.figure.value.empty() && key.path != "mfu" && key.path != "tokens_per_s")
      figures.push_back(std::move(key.figure));
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
  if (p.feasible() && p.memory && p.memory->may_fit())
    head.sentence = sentence_of(memory_verdict(*p.memory)) + " " + head.sentence;
  head.figures = report_figures(p);
  head.next = next_of(report, source);
  return head;
}

}  // namespace foretrain
