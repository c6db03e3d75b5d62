// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/plan_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>

#include "planner/answer/step_part.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

constexpr int most_parts = 5;
constexpr double least_share = 1e-5;      ///< of the step, for a part to be told
constexpr double condition_share = 0.01;  ///< of the step, for a part to need a condition

std::string settled(const std::vector<std::string>& settings, const std::string& key) {
  const auto match =
      std::ranges::find_if(settings, [&](const auto& s) { return s.starts_with(key); });
  return match == settings.end() ? "as given" : match->substr(key.size());
}

}  // namespace

std::string differing_settings(const std::vector<std::string>& first,
                               const std::vector<std::string>& other) {
  std::string text;
  for (const std::string& setting : first) {
    const std::string key = setting.substr(0, setting.find('=') + 1);
    const std::string value = settled(other, key);
    if (setting.substr(key.size()) == value) continue;
    text += fmt::format("{}{} instead of {}", text.empty() ? "" : ", ", setting, value);
  }
  return text;
}

std::vector<PartDifference> part_differences(const Report& first, const Report& other) {
  const auto ours = whole_waterfall(first.scenario.job, first.prediction);
  const auto theirs = whole_waterfall(other.scenario.job, other.prediction);
  const double scale = static_cast<double>(first.scenario.job.training.global_batch) /
                       other.scenario.job.training.global_batch;
  std::vector<PartDifference> parts;
  for (std::size_t i = 0; i < ours.size(); ++i)
    parts.push_back(
        {ours[i].key, ours[i].label, theirs[i].time.value() * scale - ours[i].time.value()});
  std::ranges::stable_sort(parts, [](const auto& a, const auto& b) {
    return std::abs(a.seconds) > std::abs(b.seconds);
  });
  return parts;
}

std::string difference_sentences(const Report& first, const Report& other) {
  const double step = first.prediction.step->time.value();
  std::string gains;
  std::string losses;
  double total = 0.0;
  int told = 0;
  for (const PartDifference& part : part_differences(first, other)) {
    total += part.seconds;
    if (std::abs(part.seconds) < least_share * step || ++told > most_parts) continue;
    std::string& list = part.seconds > 0.0 ? gains : losses;
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", part.label,
                        seconds_text(Seconds{std::abs(part.seconds)}));
  }
  std::string text =
      fmt::format("Its step is {} ({:.2f} %) {} for the same sequences.",
                  seconds_text(Seconds{std::abs(total)}), 100.0 * std::abs(total) / (step + total),
                  total < 0.0 ? "longer" : "shorter");
  if (!gains.empty()) text += " It saves " + gains + ".";
  if (!losses.empty()) text += " It pays " + losses + ".";
  return text;
}

namespace {

/// What a part of the step rests on; nothing where that is not said, or it is not a part of `step`
/// that matters.
void add_condition(const std::string& key, Seconds time, Seconds step,
                   std::vector<std::string>& conditions) {
  if (time < condition_share * step) return;
  for (const StepPart& row : step_parts())
    if (waterfall_key(row) == key && !row.condition.empty())
      conditions.push_back(fmt::format("{} ({})", row.condition, seconds_text(time)));
}

void add_memory_condition(const Report& report, std::vector<std::string>& conditions) {
  const auto& memory = report.prediction.memory;
  if (memory && memory->peak > 0.9 * memory->usable)
    conditions.push_back(fmt::format("{} of {} are not exceeded: {} are left",
                                     bytes_text(memory->peak), bytes_text(memory->usable),
                                     bytes_text(memory->usable - memory->peak)));
}

}  // namespace

std::vector<std::string> conditions_of_gain(const Report& first, const Report& other) {
  std::vector<std::string> conditions;
  for (const PartDifference& part : part_differences(first, other))
    add_condition(part.key, Seconds{part.seconds}, other.prediction.step->time, conditions);
  add_memory_condition(first, conditions);
  return conditions;
}

std::vector<std::string> conditions_of_step(const Report& report) {
  std::vector<std::string> conditions;
  const Prediction& p = report.prediction;
  if (p.step && p.flops) {
    auto parts = whole_waterfall(report.scenario.job, p);
    std::ranges::stable_sort(parts, [](const auto& a, const auto& b) { return b.time < a.time; });
    for (const WaterfallPart& part : parts)
      add_condition(part.key, part.time, p.step->time, conditions);
  }
  add_memory_condition(report, conditions);
  return conditions;
}

}  // namespace foretrain
