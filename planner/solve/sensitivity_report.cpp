// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/solve/sensitivity.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr double too_small_to_show = 5e-5;

std::string change_text(double share) {
  if (std::abs(share) < too_small_to_show) return "0.00 %";
  return fmt::format("{:+.2f} %", 100.0 * share);
}

double widest(const Sensitivity& result) {
  double swing = 0.0;
  for (const SensitivityLever& lever : result.levers) swing = std::max(swing, lever.swing());
  return swing;
}

std::string base_text(const Sensitivity& result) {
  std::string text = seconds_text(result.base.step) + " per step";
  if (result.base.run) text += ", " + duration_text(*result.base.run) + " in all";
  if (result.base.price_usd) text += ", " + dollars_text(Dollars{*result.base.price_usd});
  return text;
}

/// Both changes on one axis; less than nothing goes to the left.
AnswerBar bar_of(const SensitivityLever& lever, double scale) {
  const auto at = [&](double change) {
    const bool shown = scale > 0.0 && std::abs(change) >= too_small_to_show;
    return shown ? 0.5 + 0.5 * change / scale : 0.5;
  };
  AnswerBar bar{at(std::min({lever.low_change, lever.high_change, 0.0})),
                at(std::max({lever.low_change, lever.high_change, 0.0}))};
  bar.axis = 0.5;
  return bar;
}

AnswerTable tornado_table(const Sensitivity& result) {
  AnswerTable table{{words_column("input"),
                     number_column(fmt::format("-{:.0f} %", 100.0 * result.by)),
                     number_column(fmt::format("+{:.0f} %", 100.0 * result.by)),
                     words_column("change, less to the left")}};
  const double scale = widest(result);
  for (const SensitivityLever& lever : result.levers)
    table.add({lever.label, change_text(lever.low_change), change_text(lever.high_change),
               bar_of(lever, scale)});
  return table;
}

Json point_tree(const SensitivityPoint& point) {
  return {{"factor", point.factor},
          {"step_s", number_or_null(point.step.value())},
          {"per_sequence_s", number_or_null(point.per_sequence.value())},
          {"run_s", number_or_null(point.run ? std::optional(point.run->value()) : std::nullopt)},
          {"price_usd", number_or_null(point.price_usd)}};
}

AnswerHead sensitivity_head(const Sensitivity& result) {
  AnswerHead head;
  head.subject = result.name;
  head.words =
      fmt::format("{} when an input moves by {}", name_of(result.metric), percent_text(result.by));
  head.sentence = "As it is: " + base_text(result) + ".";
  for (std::size_t i = 0; i < std::min<std::size_t>(3, result.levers.size()); ++i) {
    const SensitivityLever& lever = result.levers[i];
    head.figures.push_back(
        {lever.label, change_text(lever.low_change) + " to " + change_text(lever.high_change)});
  }
  return head;
}

}  // namespace

Answer sensitivity_answer(const Sensitivity& result) {
  Answer answer{sensitivity_head(result)};
  answer.add("", tornado_table(result));
  AnswerSection notes;
  for (const SensitivityLever& lever : result.levers)
    if (std::abs(lever.high.factor - 1.0 - result.by) > 1e-9 ||
        std::abs(lever.low.factor - 1.0 + result.by) > 1e-9)
      notes.blocks.emplace_back(
          AnswerLine{fmt::format("{}: moved to {:.3f} and {:.3f} times, which the plan can divide.",
                                 lever.label, lever.low.factor, lever.high.factor)});
  for (const UnmovedInput& input : result.unmoved)
    notes.blocks.emplace_back(
        AnswerLine{fmt::format("{}: not moved, {}.", input.label, input.why)});
  notes.blocks.emplace_back(
      AnswerLine{"One input at a time, plan and everything else equal, closed form; interactions "
                 "are not shown."});
  answer.add(std::move(notes));
  return answer;
}

std::string sensitivity_json(const Sensitivity& result) {
  Json levers = Json::array();
  for (const SensitivityLever& lever : result.levers)
    levers.push_back({{"key", lever.key},
                      {"label", lever.label},
                      {"low", point_tree(lever.low)},
                      {"high", point_tree(lever.high)},
                      {"low_change", number_or_null(lever.low_change)},
                      {"high_change", number_or_null(lever.high_change)},
                      {"swing", number_or_null(lever.swing())}});
  Json unmoved = Json::array();
  for (const UnmovedInput& input : result.unmoved)
    unmoved.push_back({{"key", input.key}, {"label", input.label}, {"why", input.why}});
  return dump({{"schema", "sensitivity/1"},
               {"foretrain_version", version},
               {"name", result.name},
               {"metric", name_of(result.metric)},
               {"by", result.by},
               {"base", point_tree(result.base)},
               {"levers", std::move(levers)},
               {"unmoved", std::move(unmoved)}});
}

}  // namespace foretrain
