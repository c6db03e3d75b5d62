// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/base/too_large.hpp"
#include "planner/answer/memory_part.hpp"
#include "planner/answer/quantity.hpp"
#include "planner/answer/run_part.hpp"
#include "planner/forecast/budget.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/page/internal/page_tree.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/text/format.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

/// A headline number. `low` and `high` are absent where nothing bounds it.
struct Card {
  std::string key;
  std::string label;
  std::string value;
  std::string band;  ///< low and high in words; empty: none
  std::string note;
  std::optional<double> number{};
  std::optional<double> low{};
  std::optional<double> high{};
  std::optional<double> share{};  ///< of what is available, for a meter
};

Json card_tree(const Card& card) {
  return {{"key", card.key},
          {"label", card.label},
          {"value", card.value},
          {"band", card.band},
          {"note", card.note},
          {"number", number_or_null(card.number)},
          {"low", number_or_null(card.low)},
          {"high", number_or_null(card.high)},
          {"share", number_or_null(card.share)}};
}

Card memory_card(const Prediction& p) {
  Card card{"memory", "Peak memory per GPU", "unknown", "", "a plan that is not legal has none"};
  if (!p.memory) return card;
  const MemoryForecast& m = *p.memory;
  card.value = bytes_text(m.peak);
  card.note = fmt::format("{} of {} usable, on {}", percent_text(m.peak / m.usable),
                          bytes_text(m.usable), heaviest_name(m));
  card.share = m.peak / m.usable;
  return card;
}

Card step_card(const StepForecast& s) {
  return {"step",
          "Step time",
          seconds_text(s.time),
          seconds_text(s.low) + " to " + seconds_text(s.high),
          "one optimizer step; 10th to 90th percentile",
          s.time.value(),
          s.low.value(),
          s.high.value()};
}

Card card_if_it_fit(const TimedStep& other) {
  Card card = step_card(other.step);
  card.label += " if it fit";
  card.note = "MFU " + percent_text(other.efficiency.mfu) + ", on GPUs with enough memory";
  return card;
}

/// The step's band carries over to what is inversely proportional to it.
Card inverse_card(Card card, double number, const StepForecast& s,
                  std::string (*text)(double value)) {
  card.number = number;
  card.low = number * (s.time / s.high);
  card.high = number * (s.time / s.low);
  card.value = text(number);
  card.band = text(*card.low) + " to " + text(*card.high);
  return card;
}

std::string whole_text(double value) { return fixed_text(value, 0); }

Card run_card(const Prediction& p) {
  const RunForecast& run = p.run;
  Card card{"run", "Time to train", "unknown", "", "the scenario gives no training.tokens"};
  const auto duration = run_duration(p);
  if (run.tokens && run.goodput && !duration) card.note = "with these interruptions it never ends";
  if (!run.tokens || !duration) return card;
  const Seconds time = *duration;
  card.value = duration_text(time);
  card.number = time.value();
  card.note = count_text(*run.tokens) + " tokens, " +
              (run.expected ? "interruptions counted" : "without interruptions");
  if (run.expected && run.p10 && run.p90) {
    card.low = run.p10->value();
    card.high = run.p90->value();
  } else if (!run.expected && p.step) {
    card.low = *card.number * (p.step->low / p.step->time);
    card.high = *card.number * (p.step->high / p.step->time);
  }
  if (card.low)
    card.band = duration_text(Seconds{*card.low}) + " to " + duration_text(Seconds{*card.high});
  return card;
}

Card goodput_card(const RunForecast& run) {
  Card card{"goodput", "Goodput", "unknown", "",
            "not all that it rests on is given: see the warnings"};
  if (!run.goodput) return card;
  card.value = percent_text(*run.goodput);
  card.share = *run.goodput;
  card.note = "of the time is productive";
  if (run.interruptions)
    card.note += fmt::format("; {} interruptions", significant_text(*run.interruptions));
  return card;
}

Card cost_card(const CostForecast& cost) {
  Card card{"cost", "Cost", "unknown", "", "the scenario gives no training.tokens"};
  if (!cost.gpu_hours) return card;
  const std::string gpu_hours = fixed_text(*cost.gpu_hours, 0);
  if (!cost.price) card.label = "GPU-hours";
  card.value = cost.price ? dollars_text(*cost.price) : gpu_hours;
  card.note = cost.price ? gpu_hours + " GPU-hours" : "the scenario gives no price";
  const auto number = [](const std::optional<Dollars>& price, const std::optional<double>& time) {
    return price ? std::optional(price->value()) : time;
  };
  card.number = number(cost.price, cost.gpu_hours);
  card.low = number(cost.low.price, cost.low.gpu_hours);
  card.high = number(cost.high.price, cost.high.gpu_hours);
  if (card.low) card.band = cost_range_text(cost);
  if (cost.low.energy) card.note += "; " + energy_range_text(cost) + " at the meter";
  return card;
}

Json cards_tree(const Report& report) {
  const Prediction& p = report.prediction;
  std::vector<Card> cards{memory_card(p)};
  if (p.step) cards.push_back(step_card(*p.step));
  if (p.if_it_fit) cards.push_back(card_if_it_fit(*p.if_it_fit));
  if (p.step && p.efficiency) {
    const Efficiency& e = *p.efficiency;
    const std::string peak = p.flops ? "of " + rate_text(p.flops->peak_per_gpu) + " per GPU" : "";
    cards.push_back(inverse_card({"mfu", "MFU", "", "", peak}, e.mfu, *p.step, percent_text));
    cards.push_back(inverse_card({"tokens", "Tokens per second", "", "",
                                  significant_text(e.tokens_per_s_per_gpu) + " per GPU"},
                                 e.tokens_per_s, *p.step, whole_text));
  }
  if (p.step) cards.insert(cards.end(), {run_card(p), goodput_card(p.run), cost_card(p.cost)});
  Json list = Json::array();
  for (const Card& card : cards) list.push_back(card_tree(card));
  return list;
}

Json lines_tree(const SummaryLines& lines) {
  Json list = Json::array();
  for (const auto& [label, text] : lines)
    list.push_back({label.substr(std::min(label.find_first_not_of(' '), label.size())), text});
  return list;
}

Json memory_tree(const MemoryForecast& memory) {
  Json stages = Json::array();
  for (const StageMemory& stage : memory.stages) {
    Json parts = Json::array();
    for (const MemoryPart& part : memory_parts()) parts.push_back((stage.*part.size).value());
    Json rows = Json::array();
    for (const MemoryRow& row : stage.rows)
      rows.push_back({row.category, row.name, number_or_null(row.size.value())});
    stages.push_back({{"stage", stage.stage},
                      {"layers", stage.layers},
                      {"phase", stage.phase},
                      {"peak", number_or_null(stage.peak.value())},
                      {"parts", std::move(parts)},
                      {"rows", std::move(rows)}});
  }
  return {{"capacity", memory.capacity.value()},
          {"usable", memory.usable.value()},
          {"peak_stage", memory.peak_stage},
          {"stages", std::move(stages)}};
}

Json lever_tree(const Lever& lever) {
  return {{"set", lever.settings},
          {"step_before", lever.step_before.value()},
          {"step_after", lever.step_after.value()},
          {"peak", lever.peak.value()}};
}

Json losses_tree(const Report& report) {
  const StepLosses all = step_losses(report);
  Json losses = Json::array();
  for (const StepLoss& loss : all.losses)
    losses.push_back({{"key", loss.key},
                      {"label", loss.label},
                      {"time", loss.time.value()},
                      {"mfu_after", loss.mfu_after},
                      {"cause", loss.cause},
                      {"lever", loss.lever ? lever_tree(*loss.lever) : Json(nullptr)}});
  return {{"ideal", all.ideal.value()},
          {"ideal_cause", all.ideal_cause},
          {"step", all.step.value()},
          {"mfu", all.mfu},
          {"losses", std::move(losses)}};
}

Json run_split_tree(const RunSplit& split) {
  Json list = Json::array();
  for (const RunPart& part : run_parts())
    if (split.*part.time > Seconds{}) list.push_back({part.label, (split.*part.time).value()});
  return list;
}

Json cost_tree(const Prediction& p) {
  Json list = Json::array();
  for (const ForecastQuantity& row : quantities().rows()) {
    if (!row.path.starts_with("cost.parts.")) continue;
    if (const auto price = QuantityAt{&row}.number(p)) list.push_back({row.label, *price});
  }
  return list;
}

Json values_tree(const Scenario& scenario) {
  Json list = Json::array();
  for (const ResolvedValue& value : scenario.values)
    list.push_back({value.path, value.value, value.origin,
                    scenario_fields().find(value.path) == nullptr ? 1 : 0});
  return list;
}

/// What the command line changed.
Json set_tree(const Scenario& scenario) {
  Json list = Json::array();
  for (const ResolvedValue& value : scenario.values)
    if (value.origin == "--set") list.push_back(value.path + "=" + value.value);
  return list;
}

Json files_tree(const Scenario& scenario) {
  Json list = Json::array();
  for (const SourceFile& file : scenario.files) list.push_back({file.path, file.sha256});
  return list;
}

Json reasons_tree(const Report& report) {
  Json list = Json::array();
  for (const Infeasible& reason : report.prediction.reasons)
    list.push_back({{"rule", reason.rule},
                    {"key", reason.key},
                    {"message", reason.message},
                    {"remedy", reason.remedy}});
  return list;
}

Json changes_tree(const Report& report) {
  Json list = Json::array();
  for (const Change& change : report.changes)
    list.push_back({change.text(), bytes_text(change.peak), step_text(change)});
  return list;
}

Json warnings_tree(const Prediction& prediction) {
  Json list = Json::array();
  for (const Warning& warning : prediction.warnings) list.push_back({warning.id, warning.message});
  return list;
}

Json budget_tree(const Report& report) {
  Json list = Json::array();
  for (const BudgetVerdict& verdict : report.budget)
    list.push_back({verdict.pass ? "PASS" : "FAIL", budget_text(verdict)});
  return list;
}

}  // namespace

PageSide page_side(Report report) {
  PageSide side{std::move(report)};
  side.report.budget.clear();
  if (side.report.prediction.feasible()) side.report.budget = judge_budget(side.report);
  const Job& job = side.report.scenario.job;
  if (!side.report.prediction.step) return side;
  try {
    side.path = step_path(job, stage_layout(job.model, job.parallel), Detail::pass);
  } catch (const TooLarge& error) {
    side.not_drawn = error.what();
  }
  return side;
}

Json side_tree(const PageSide& side) {
  const Report& report = side.report;
  const Prediction& p = report.prediction;
  const bool timed = p.step && p.flops;
  return {
      {"name", report.scenario.job.name},
      {"path", report.scenario.path},
      {"set", set_tree(report.scenario)},
      {"engine", name_of(p.engine)},
      {"feasible", p.feasible()},
      {"standing", name_of(run_verdict(p))},
      {"verdict", verdict_words(p)},
      {"memory_verdict", p.memory ? Json(memory_verdict(*p.memory)) : Json(nullptr)},
      {"cards", cards_tree(report)},
      {"question", lines_tree(question_lines(report.scenario.job))},
      {"reasons", reasons_tree(report)},
      {"changes", changes_tree(report)},
      {"budget", budget_tree(report)},
      {"memory", p.memory && !p.memory->stages.empty() ? memory_tree(*p.memory) : Json(nullptr)},
      {"losses", timed ? losses_tree(report) : Json(nullptr)},
      {"gantt", side.path ? gantt_tree(*side.path) : Json(nullptr)},
      {"run", p.run.split ? run_split_tree(*p.run.split) : Json(nullptr)},
      {"cost", cost_tree(p)},
      {"warnings", warnings_tree(p)},
      {"values", values_tree(report.scenario)},
      {"files", files_tree(report.scenario)}};
}

}  // namespace foretrain
