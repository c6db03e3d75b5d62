// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/measured_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "planner/answer/quantity.hpp"

namespace foretrain {
namespace {

/// The most that any stage's GPU holds, as a counter shows it.
std::optional<double> most_memory(const Prediction& p, Bytes StageMemory::*counter) {
  if (!p.memory || p.memory->stages.empty()) return std::nullopt;
  Bytes most;
  for (const StageMemory& stage : p.memory->stages) most = max(most, stage.*counter);
  return most.value();
}

}  // namespace

std::optional<double> MeasuredLine::difference() const {
  return forecast ? std::optional(*forecast / measured - 1.0) : std::nullopt;
}

std::vector<MeasuredLine> measured_lines(const Job& job, const Prediction& p) {
  const RunMeasurements& run = job.measured;
  const auto step = p.step ? std::optional(p.step->time.value()) : std::nullopt;
  const auto rate = p.efficiency ? std::optional(p.efficiency->tokens_per_s) : std::nullopt;
  const auto device = p.memory ? std::optional(p.memory->peak.value()) : std::nullopt;
  std::vector<MeasuredLine> lines{
      {"step_time", "step time", Measure::seconds, run.step.value(), step},
      {"tokens_per_second", "tokens/s", Measure::token_rate, run.tokens_per_s, rate},
      {"memory_allocated", "allocated memory", Measure::bytes, run.allocated.value(),
       most_memory(p, &StageMemory::counted)},
      {"memory_reserved", "reserved memory", Measure::bytes, run.reserved.value(),
       most_memory(p, &StageMemory::reserved)},
      {"memory_device", "memory of the device", Measure::bytes, run.device.value(), device}};
  std::erase_if(lines, [](const MeasuredLine& line) { return !(line.measured > 0.0); });
  return lines;
}

const ValueTable<MeasuredLine>& measured_line_values() {
  static const auto table =
      ValueTable<MeasuredLine>{}
          .add("key", &MeasuredLine::key, "Key of the scenario's section measured.")
          .add("measured", &MeasuredLine::measured,
               "What the scenario states, in seconds, tokens per second or bytes.")
          .add("forecast", &MeasuredLine::forecast, "What is forecast of the same.")
          .add("difference", &MeasuredLine::difference, "forecast / measured - 1.");
  return table;
}

AnswerSection measured_section(const Report& report) {
  const Scenario& scenario = report.scenario;
  const bool changed = !scenario.source.options.overrides.empty();
  AnswerTable table{{words_column(changed ? "before --set" : ""), number_column("measured"),
                     number_column("forecast"), number_column("difference")}};
  for (const MeasuredLine& line : measured_lines(scenario.job, report.prediction)) {
    const auto text = [&](double number) { return quantity_text(line.measure, Value{number}); };
    const auto difference = line.difference();
    table.add({std::string(line.label), text(line.measured),
               line.forecast ? text(*line.forecast) : "unknown",
               difference ? fmt::format("{:+.1f} %", 100.0 * *difference) : "-"});
  }
  AnswerSection section{"Measured, and forecast"};
  if (!table.rows.empty()) section.blocks.emplace_back(std::move(table));
  return section;
}

}  // namespace foretrain
