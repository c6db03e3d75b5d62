// SPDX-License-Identifier: Apache-2.0
#include "planner/step/step_losses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "planner/forecast/summary.hpp"
#include "planner/forecast/waterfall.hpp"
#include "planner/step/internal/step_causes.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

std::string settings_text(const Lever& lever) {
  return fmt::format("--set {}", fmt::join(lever.settings, " --set "));
}

std::string lever_text(const Lever& lever) {
  const double change = lever.step_after / lever.step_before - 1.0;
  return fmt::format("{}: {} -> {}, step {} -> {} ({}{}), peak {}", settings_text(lever),
                     seconds_text(lever.loss_before), seconds_text(lever.loss_after),
                     seconds_text(lever.step_before), seconds_text(lever.step_after),
                     change < 0.0 ? "-" : "+", percent_text(change < 0.0 ? -change : change),
                     bytes_text(lever.peak));
}

std::string table_text(const StepLosses& all, const TextStyle& style) {
  constexpr int label_columns = 23;
  const int cells = style.width - label_columns - 33;
  std::string result = "  " +
                       toned(pad_right("", label_columns) + pad_left("time", 10) +
                                 pad_left("factor", 8) + pad_left("MFU after", 11),
                             Tone::dim, style) +
                       "\n";
  const auto line = [&](const std::string& label, Seconds time, const std::string& factor,
                        double mfu, Tone tone) {
    std::string text = "  " + toned(pad_right(label, label_columns), tone, style) +
                       pad_left(seconds_text(time), 10) + pad_left(factor, 8) +
                       pad_left(percent_text(mfu), 11) + "  " + span_bar(0.0, mfu, cells, style);
    result += text.substr(0, text.find_last_not_of(' ') + 1) + '\n';
  };
  line("model FLOPs at peak", all.ideal, "", 1.0, Tone::plain);
  for (const StepLoss& loss : all.losses)
    line(loss.label, loss.time, fixed_text(loss.factor, 3), loss.mfu_after, Tone::plain);
  line("= step", all.step, fixed_text(all.mfu, 3), all.mfu, Tone::strong);
  return result;
}

}  // namespace

StepLosses step_losses(const Report& asked) {
  Report report = asked;
  report.prediction = as_if_it_fit(std::move(report.prediction));
  const Job& job = report.scenario.job;
  StepLosses result;
  result.feasible = report.prediction.feasible();
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

std::string step_losses_text(const Report& report, const StepLosses& all, const TextStyle& style) {
  const std::string tail = fmt::format(": where the MFU goes, 100 % to {} ({})",
                                       percent_text(all.mfu), name_of(report.prediction.engine));
  const int room = style.width - display_width(tail);
  std::string result =
      toned(cut(report.scenario.job.name, room), Tone::strong, style) + tail + "\n";
  if (!all.feasible)
    result += "\n" + hanging("",
                             toned(verdict_words(report.prediction), Tone::bad, style) +
                                 ": the plan does not fit, and this is what its step would be if "
                                 "it did.",
                             style);
  result += "\n" + table_text(all, style) + "\n";
  result += hanging("  ", all.ideal_cause, style);
  for (const StepLoss& loss : all.losses) {
    result += "\n" + toned(loss.label, Tone::strong, style) +
              fmt::format(": {}, {} of the step\n", seconds_text(loss.time),
                          percent_text(loss.time / all.step));
    result += hanging("  ", loss.cause, style);
    if (!all.feasible) continue;
    result += hanging("  ",
                      loss.lever ? "less with " + lever_text(*loss.lever)
                                 : "No setting we tried reduces this and still fits.",
                      style);
  }
  result += "\n";
  if (!all.feasible) return result;
  result += hanging("",
                    "Savings are forecast with the closed form, one change at a time. "
                    "foretrain explain SCENARIO step.time_s shows the formula and its inputs.",
                    style);
  return result;
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
