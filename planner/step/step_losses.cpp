// SPDX-License-Identifier: Apache-2.0
#include "planner/step/step_losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/step/internal/step_causes.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/quoting.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

std::string lever_text(const Lever& lever) {
  return fmt::format("{}: {} -> {}, {}", set_words(lever.settings), seconds_text(lever.loss_before),
                     seconds_text(lever.loss_after), effect_text(lever));
}

AnswerTable losses_table(const StepLosses& all) {
  AnswerTable table{{words_column(), number_column("time"), number_column("factor"),
                     number_column("MFU after"), words_column()}};
  const auto line = [&](AnswerCell label, Seconds time, const std::string& factor, double mfu) {
    table.add(
        {std::move(label), seconds_text(time), factor, percent_text(mfu), AnswerBar{0.0, mfu}});
  };
  line("model FLOPs at peak", all.ideal, "", 1.0);
  for (const StepLoss& loss : all.losses)
    line(loss.label, loss.time, fixed_text(loss.factor, 3), loss.mfu_after);
  line({"= step", Tone::strong}, all.step, fixed_text(all.mfu, 3), all.mfu);
  return table;
}

AnswerSection loss_section(const StepLosses& all, const StepLoss& loss) {
  AnswerSection section{fmt::format("{}: {}, {} of the step", loss.label, seconds_text(loss.time),
                                    percent_text(loss.time / all.step)),
                        {AnswerLine{loss.cause}}};
  if (all.feasible)
    section.blocks.emplace_back(
        AnswerLine{loss.lever ? "less with " + lever_text(*loss.lever)
                              : std::string("No setting we tried reduces this and still fits.")});
  return section;
}

double change_by(const Lever& lever) { return lever.step_after / lever.step_before; }

/// The lever that shortens the step most; none where nothing shortens it by what a measurement of
/// two runs would tell.
const Lever* best_lever(const StepLosses& all) {
  constexpr double noticed = 0.99;
  const auto losses = losses_by_gain(all);
  if (losses.empty() || change_by(*losses.front()->lever) > noticed) return nullptr;
  return &*losses.front()->lever;
}

/// The largest losses, and the lever that shortens the step most.
AnswerHead losses_head(const Report& report, const StepLosses& all, const std::string& source) {
  AnswerHead head;
  head.subject = report.scenario.job.name;
  head.made_by = name_of(report.prediction.engine);
  head.words = "MFU " + percent_text(all.mfu);
  if (!all.feasible) {
    head.verdict = Verdict::no;
    head.words = verdict_words(report.prediction);
    head.sentence = "The plan does not fit, and this is what its step would be if it did. ";
  }
  head.sentence += "The step reaches " + percent_text(all.mfu) + " of peak.";
  std::vector<const StepLoss*> largest;
  for (const StepLoss& loss : all.losses) largest.push_back(&loss);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const StepLoss* a, const StepLoss* b) { return a->time > b->time; });
  largest.resize(std::min<std::size_t>(largest.size(), 3));
  const Lever* best = best_lever(all);
  head.figures.push_back({"step", seconds_text(all.step)});
  for (const StepLoss* loss : largest)
    head.figures.push_back({loss->label, seconds_text(loss->time), "",
                            percent_text(loss->time / all.step) + " of the step"});
  if (all.feasible && best == nullptr)
    head.sentence += " No setting we tried shortens it by 1 % or more.";
  if (all.feasible && best != nullptr) {
    head.sentence += fmt::format(" The setting that shortens it most: {}, from {} to {}.",
                                 set_words(best->settings), seconds_text(best->step_before),
                                 seconds_text(best->step_after));
    if (!source.empty())
      head.next = fmt::format("foretrain simulate {} {}", source, set_words(best->settings));
  } else if (!source.empty()) {
    head.next = all.feasible             ? fmt::format("foretrain explain {} step.time_s", source)
                : report.changes.empty() ? "foretrain fit " + source
                                         : fmt::format("foretrain simulate {} {}", source,
                                                       set_words(report.changes.front().settings));
  }
  return head;
}

}  // namespace

std::vector<const StepLoss*> losses_by_gain(const StepLosses& all) {
  std::vector<const StepLoss*> losses;
  for (const StepLoss& loss : all.losses)
    if (loss.lever && change_by(*loss.lever) < 1.0) losses.push_back(&loss);
  std::stable_sort(losses.begin(), losses.end(), [](const StepLoss* a, const StepLoss* b) {
    return change_by(*a->lever) < change_by(*b->lever);
  });
  return losses;
}

std::string effect_text(const Lever& lever, const NumberUnits& units) {
  const double change = change_by(lever) - 1.0;
  return fmt::format("step {} -> {} ({}{}), peak {}", seconds_text(lever.step_before, units),
                     seconds_text(lever.step_after, units), change < 0.0 ? "-" : "+",
                     percent_text(std::abs(change)), bytes_text(lever.peak, units));
}

StepLosses step_losses(const Report& asked) {
  Report report = asked;
  report.prediction = as_if_it_fit(std::move(report.prediction));
  const Job& job = report.scenario.job;
  StepLosses result;
  // A run that is late, or never ends, has a step all the same.
  result.feasible = !report.prediction.if_it_fit;
  result.ideal = ideal_step(job, report.prediction);
  result.ideal_cause = cause_of("ideal", report);
  Seconds at = result.ideal;
  for (const WaterfallPart& part : waterfall(job, report.prediction)) {
    if (part.key == ideal_key) continue;
    const double factor = at / (at + part.time);
    at += part.time;
    result.losses.push_back({part.key, part.label, part.time, factor, result.ideal / at,
                             cause_of(part.key, report), lever_for(part.key, job)});
  }
  result.step = at;
  result.mfu = result.ideal / at;
  return result;
}

Answer step_losses_answer(const Report& report, const StepLosses& all, const std::string& source) {
  Answer answer{losses_head(report, all, source)};
  answer.add({fmt::format("Where the MFU goes, 100 % to {}", percent_text(all.mfu)),
              {losses_table(all), AnswerLine{all.ideal_cause}}});
  for (const StepLoss& loss : all.losses) answer.add(loss_section(all, loss));
  if (all.feasible)
    answer.add("", AnswerLine{"Savings are forecast with the closed form, one change at a time. "
                              "foretrain explain SCENARIO step.time_s shows the formula and its "
                              "inputs."});
  return answer;
}

AnswerSection step_losses_section(const StepLosses& all) {
  AnswerTable table{{words_column("loss"), number_column("time"), number_column("MFU after"),
                     words_column("cause"), words_column("less with")}};
  for (const StepLoss& loss : all.losses)
    table.add({loss.label, seconds_text(loss.time), percent_text(loss.mfu_after), loss.cause,
               loss.lever ? lever_text(*loss.lever) : std::string(all.feasible ? "none" : "")});
  return {"Why, and what would be less",
          {AnswerLine{all.ideal_cause}, std::move(table),
           AnswerLine{"One change at a time, forecast with the closed form; none: no setting that "
                      "was tried shortens it and fits."}},
          AnswerPlace::everywhere,
          true};
}

std::string step_losses_json(const StepLosses& all) {
  Json losses = Json::array();
  for (const StepLoss& loss : all.losses) {
    Json lever = nullptr;
    if (loss.lever)
      lever = {{"set", loss.lever->settings},
               {"loss_before_s", number_or_null(loss.lever->loss_before.value())},
               {"loss_after_s", number_or_null(loss.lever->loss_after.value())},
               {"step_before_s", number_or_null(loss.lever->step_before.value())},
               {"step_after_s", number_or_null(loss.lever->step_after.value())},
               {"peak_bytes", number_or_null(loss.lever->peak.value())}};
    losses.push_back({{"part", loss.key},
                      {"time_s", number_or_null(loss.time.value())},
                      {"factor", number_or_null(loss.factor)},
                      {"mfu_after", number_or_null(loss.mfu_after)},
                      {"cause", loss.cause},
                      {"lever", std::move(lever)}});
  }
  return dump({{"schema", "step-losses/1"},
               {"foretrain_version", version},
               {"feasible", all.feasible},
               {"ideal_s", number_or_null(all.ideal.value())},
               {"step_s", number_or_null(all.step.value())},
               {"mfu", number_or_null(all.mfu)},
               {"losses", std::move(losses)}});
}

}  // namespace foretrain
