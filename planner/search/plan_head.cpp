// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "planner/forecast/report_head.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/forecast/summary.hpp"
#include "planner/search/plan_report.hpp"
#include "planner/text/format.hpp"
#include "planner/text/plan_words.hpp"
#include "planner/text/quoting.hpp"

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
  const std::string deadline = deadline_sentence(best.report.prediction.run);
  return deadline.empty() ? text : text + " " + deadline;
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
    return std::ranges::any_of(scenario.values, [&](const auto& value) {
      return setting == value.path + "=" + value.value;
    });
  });
  return settings;
}

/// Of the limit that the nearest plan breaks.
struct NothingWords {
  std::string_view rule;
  const char* words;
};

constexpr std::array nothing_words{NothingWords{deadline_rule, "NO PLAN MEETS THE DEADLINE"},
                                   NothingWords{never_finishes_rule, "NO RUN FINISHES"},
                                   NothingWords{"max-step", "NO STEP IS FAST ENOUGH"},
                                   NothingWords{"budget", "NO PLAN KEEPS THE BUDGET"},
                                   NothingWords{"power-cap", "NO PLAN KEEPS THE POWER CAP"}};

/// The row of what every plan that fits breaks; null where none fits.
const NothingWords* late_words(const PlanReport& report) {
  if (!report.nearest || !report.result.nearest) return nullptr;
  const std::string& rule = report.result.nearest->excess.rule;
  const auto row = std::ranges::find_if(
      nothing_words, [&](const NothingWords& words) { return words.rule == rule; });
  return row == nothing_words.end() ? nullptr : &*row;
}

/// " It is met with a probability of 12.0 %." of the nearest plan's run; empty: nobody asked.
std::string chance_sentence(const PlanReport& report) {
  const Prediction& p = report.nearest->report.prediction;
  const auto duration = run_duration(p);
  const auto& deadline = report.scenario.job.operations.deadline;
  if (!deadline || !duration || !p.step) return {};
  return fmt::format(" The chance that it is met all the same is {}.",
                     percent_text(chance_in_time(*duration, *p.step, *deadline)));
}

std::string late_sentence(const PlanReport& report) {
  const SearchResult& result = report.result;
  std::int64_t fit = result.feasible;
  for (const NothingWords& row : nothing_words)
    if (const auto found = result.rejected.find(std::string(row.rule));
        found != result.rejected.end())
      fit += found->second.count;
  return fmt::format("{} of {} combinations fit, and none keeps the limits. Of the nearest, {}.{}",
                     with_thousands(fit), with_thousands(result.evaluated),
                     result.nearest->excess.message, chance_sentence(report));
}

/// "12.5 d" as a scenario reads it.
std::string deadline_setting(Seconds deadline) {
  return fmt::format("operations.deadline={:.6g} d", deadline.in(days));
}

AnswerHead nothing_head(const PlanReport& report, const std::string& source, AnswerHead head) {
  head.verdict = Verdict::no;
  const auto& limit = report.options.limits.max_run;
  if (const NothingWords* late = late_words(report)) {
    head.words = report.result.complete() ? late->words : "NOTHING FOUND SO FAR";
    head.sentence = late_sentence(report);
    if (source.empty()) return head;
    head.next =
        late->rule == deadline_rule && limit
            ? fmt::format("foretrain solve {} gpus --deadline \"{:.6g} days\"", source,
                          limit->in(days))
            : "foretrain simulate " + source +
                  (report.nearest->settings.empty()
                       ? std::string()
                       : " " + set_words(changed(report.nearest->settings, report.scenario)));
    return head;
  }
  if (report.result.evaluated == 0 && !report.result.complete())
    return interrupted_head(std::move(head), "a combination was looked at");
  head.words = report.result.complete() ? "NOTHING FITS" : "NOTHING FOUND SO FAR";
  head.sentence = fmt::format("None of {} combinations fits and keeps the limits.",
                              with_thousands(report.result.evaluated));
  if (!source.empty()) head.next = "foretrain fit " + source;
  return head;
}

}  // namespace

AnswerHead plan_head(const PlanReport& report, const std::string& source) {
  AnswerHead head;
  head.subject = report.scenario.job.name;
  head.made_by = fmt::format("plans by {}", name_of(report.options.by));
  if (report.plans.empty()) return nothing_head(report, source, std::move(head));
  const Report& best = report.plans.front().report;
  head.verdict = run_verdict(best.prediction);
  head.words = verdict_words(best.prediction);
  head.sentence = found_sentence(report);
  head.figures = report_figures(best.prediction);
  for (HeadFigure& figure : head.figures)
    if (figure.label == "Step") figure.difference = against_own(report);
  if (!source.empty()) {
    auto settings = changed(report.plans.front().settings, report.scenario);
    if (report.options.limits.max_run)
      settings.push_back(deadline_setting(*report.options.limits.max_run));
    head.next = "foretrain simulate " + source;
    if (!settings.empty()) head.next += " " + set_words(settings);
  }
  return head;
}

}  // namespace foretrain
