// SPDX-License-Identifier: Apache-2.0
#include "gui/process/study.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "planner/forecast/budget.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::microseconds since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
}

void add_path(Study& study) {
  study.path_due = false;
  try {
    if (auto path = play_step(*study.report))
      study.path = std::make_shared<const StepPath>(std::move(*path));
  } catch (const std::exception& error) {
    study.path_note = error.what();
  }
}

void plan_path(Study& study) {
  const std::int64_t passes = step_passes(*study.report);
  if (passes > most_passes)
    study.path_note =
        fmt::format("a step of {} passes is too long to draw pass by pass (limit: {})",
                    with_thousands(passes), with_thousands(most_passes));
  else if (passes > quick_passes)
    study.path_due = true;
  else
    add_path(study);
}

}  // namespace

Study study_of(const Question& question) {
  const Clock::time_point begin = Clock::now();
  Study study;
  study.question = question;
  try {
    Scenario scenario = load_scenario_text(question.text, question.name, question.folder,
                                           {{}, {}, repository_of(question.folder)});
    Report report = evaluate(scenario, question.convention, question.engine);
    report.budget = judge_budget(report);
    if (!report.prediction.feasible()) report.budget.clear();
    if (report.prediction.step && report.prediction.flops)
      study.losses = std::make_shared<const StepLosses>(step_losses(report));
    study.report = std::move(report);
    plan_path(study);
  } catch (const ScenarioError& error) {
    study.diagnostics = error.diagnostics();
  } catch (const std::exception& error) {
    study.failure = error.what();
  }
  study.took = since(begin);
  return study;
}

Study with_path(Study study) {
  const Clock::time_point begin = Clock::now();
  add_path(study);
  study.took += since(begin);
  return study;
}

Study with_event(Study study, std::shared_ptr<const EventAnswer> answer) {
  study.event = std::move(answer);
  return study;
}

}  // namespace foretrain::gui
