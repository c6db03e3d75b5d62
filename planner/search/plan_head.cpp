// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/forecast/report_head.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/search/search_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/plan_words.hpp"
#include "planner/text/shell_word.hpp"

namespace foretrain {
namespace {

Banded time_of(const StepForecast& step) {
  return {step.low.value(), step.time.value(), step.high.value()};
}

/// "4.80 % less" than the plan that was asked about.
std::string change_text(double ratio) {
  return fmt::format("{:.1f} % {}", 100.0 * std::abs(ratio - 1.0), ratio < 1.0 ? "less" : "more");
}

/// Plans of the list that a measurement may well put before the first one.
std::size_t ties_of(const std::vector<Finalist>& plans) {
  std::size_t ties = 0;
  for (std::size_t i = 1; i < plans.size(); ++i)
    if (contest(time_of(plans[0].step), time_of(plans[i].step), Machines::same).ahead == Ahead::tie)
      ++ties;
  return ties;
}

std::string found_sentence(const PlanReport& report) {
  const Finalist& best = report.plans.front();
  std::string text =
      fmt::format("The best of {} feasible plans by {} takes {} a step: {}.",
                  with_thousands(report.result.feasible), name_of(report.options.by),
                  seconds_text(best.step.time), axis_words(best.report.scenario.job.parallel));
  const std::size_t ties = report.plans.size() > 1 ? ties_of(report.plans) : 0;
  if (ties > 0)
    text += ties == report.plans.size() - 1
                ? fmt::format(" The next {} are a tie with it.", ties)
                : fmt::format(" {} of the next {} {} a tie with it.", ties, report.plans.size() - 1,
                              ties == 1 ? "is" : "are");
  if (!report.result.complete()) text += " The search was ended early: better plans may exist.";
  return text;
}

/// How the step of the best plan differs from that of the plan that was asked about.
std::string against_own(const PlanReport& report) {
  if (!report.standing || !report.standing->report.prediction.step) return {};
  const StepForecast& own = *report.standing->report.prediction.step;
  const StepForecast& best = report.plans.front().step;
  if (own.time == best.time) return "your plan is the best";
  const Contest lead = contest(time_of(best), time_of(own), Machines::same);
  return fmt::format("{} than yours ({} sure)", change_text(best.time / own.time),
                     percent_text(std::max(lead.first_is_less, 1.0 - lead.first_is_less)));
}

/// Settings that the scenario does not have yet.
std::vector<std::string> changed(std::vector<std::string> settings, const Scenario& scenario) {
  std::erase_if(settings, [&](const std::string& setting) {
    return std::any_of(scenario.values.begin(), scenario.values.end(), [&](const auto& value) {
      return setting == value.path + "=" + value.value;
    });
  });
  return settings;
}

}  // namespace

AnswerHead plan_head(const PlanReport& report, const std::string& source) {
  AnswerHead head;
  head.subject = report.scenario.job.name;
  head.made_by = fmt::format("plans by {}", name_of(report.options.by));
  if (report.plans.empty()) {
    head.verdict = Verdict::no;
    head.words = report.result.complete() ? "NOTHING FITS" : "NOTHING FOUND SO FAR";
    head.sentence = fmt::format("None of {} combinations fits and keeps the limits.",
                                with_thousands(report.result.evaluated));
    if (!source.empty()) head.next = "foretrain fit " + source;
    return head;
  }
  const Report& best = report.plans.front().report;
  head.verdict = run_verdict(best.prediction);
  head.words = verdict_words(best.prediction);
  head.sentence = found_sentence(report);
  head.figures = report_figures(best.prediction);
  for (HeadFigure& figure : head.figures)
    if (figure.label == "Step") figure.difference = against_own(report);
  if (!source.empty()) {
    const auto settings = changed(report.plans.front().settings, report.scenario);
    head.next = "foretrain simulate " + source;
    if (!settings.empty()) head.next += " " + set_words(settings);
  }
  return head;
}

}  // namespace foretrain
