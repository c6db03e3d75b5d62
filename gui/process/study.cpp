// SPDX-License-Identifier: Apache-2.0
#include "gui/process/study.hpp"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "planner/cluster/cluster_file.hpp"
#include "planner/cluster/cluster_report.hpp"
#include "planner/forecast/report_head.hpp"
#include "planner/forecast/run_end.hpp"
#include "planner/study/study_of.hpp"
#include "planner/text/format.hpp"

namespace foretrain::gui {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::microseconds since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin);
}

/// The report itself, or on GPUs that hold its plan.
Report as_it_fits(const Report& report) {
  Report larger = report;
  if (const auto job = on_larger_gpus(report.scenario.job, report.prediction)) {
    larger.scenario.job = *job;
    larger.prediction = as_if_it_fit(report.prediction);
    larger.prediction.reasons.clear();
  }
  return larger;
}

void add_path(Study& study) {
  study.path_due = false;
  try {
    if (auto path = play_step(as_it_fits(*study.report)))
      study.path = std::make_shared<const StepPath>(std::move(*path));
  } catch (const std::exception& error) {
    study.path_note = error.what();
  }
}

void plan_path(Study& study) {
  const std::int64_t passes = step_passes(as_it_fits(*study.report));
  if (passes > most_passes)
    study.path_note =
        fmt::format("a step of {} passes is too long to draw pass by pass (limit: {})",
                    with_thousands(passes), with_thousands(most_passes));
  else if (passes > quick_passes)
    study.path_due = true;
  else
    add_path(study);
}

LoadOptions load_options_of(const Question& question) {
  return {{}, {}, repository_of(question.folder)};
}

void forecast_training(Study& study) {
  const Question& question = study.question;
  const Scenario scenario =
      load_scenario_text(question.text, question.name, question.folder, load_options_of(question));
  Report report = evaluate(scenario, question.convention, question.engine);
  report.budget = judge_budget(report);
  if (!report.prediction.feasible() && !report.prediction.step) report.budget.clear();
  if (as_if_it_fit(report.prediction).step && report.prediction.flops)
    study.losses = std::make_shared<const StepLosses>(step_losses(report));
  study.report = std::move(report);
  plan_path(study);
}

void simulate_served(Study& study, const std::atomic<bool>* stop) {
  const Question& question = study.question;
  LoadOptions options = load_options_of(question);
  options.purpose = Purpose::any;
  const Scenario scenario =
      load_scenario_text(question.text, question.name, question.folder, options);
  study.answer = std::make_shared<const Answer>(study_of(scenario, stop).answer);
}

void simulate_queue_of(Study& study, const std::atomic<bool>* stop) {
  const Question& question = study.question;
  const ClusterFile file =
      load_cluster_text(question.text, question.name, question.folder, load_options_of(question));
  QueueStudyOptions options;
  options.replications = file.replications;
  options.stop = stop;
  if (const auto summary = study_queue(file.queue, options))
    study.answer = std::make_shared<const Answer>(cluster_answer(file, *summary, {}));
}

/// Compares the log with the plan on the screen.
void add_diagnosis(Study& study) {
  if (!study.question.log) return;
  if (!study.report) {
    study.diagnosis_note = "A log is compared with a training scenario without errors.";
    return;
  }
  try {
    study.diagnosis = std::make_shared<const Answer>(diagnosis_answer(
        compared_with(*study.question.log, study.report->scenario.job, study.question.name)));
  } catch (const std::exception& error) {
    study.diagnosis_note = error.what();
  }
}

bool has_section(const std::string& text, const char* name) {
  const std::string line = std::string(name) + ":";
  return text.starts_with(line) || text.find("\n" + line) != std::string::npos;
}

}  // namespace

TextKind text_kind(const std::string& text) {
  if (has_section(text, "workload")) return TextKind::queue;
  if (has_section(text, "post_training")) return TextKind::served;
  return has_section(text, "serving") && !has_section(text, "training") ? TextKind::served
                                                                        : TextKind::training;
}

Study study_of(const Question& question, const std::atomic<bool>* stop) {
  const Clock::time_point begin = Clock::now();
  Study study;
  study.question = question;
  study.kind = text_kind(question.text);
  try {
    switch (study.kind) {
      case TextKind::training:
        forecast_training(study);
        break;
      case TextKind::served:
        simulate_served(study, stop);
        break;
      case TextKind::queue:
        simulate_queue_of(study, stop);
        break;
    }
    add_diagnosis(study);
  } catch (const ScenarioError& error) {
    study.diagnostics = error.diagnostics();
  } catch (const std::exception& error) {
    study.failure = error.what();
  }
  study.took = since(begin);
  return study;
}

AnswerHead head_of(const Study& study) {
  if (study.answer) return study.answer->head;
  if (study.report) return report_head(*study.report);
  AnswerHead head;
  head.words = "NOT A SCENARIO";
  const auto errors = study.diagnostics.size();
  head.sentence = errors == 0   ? study.failure
                  : errors == 1 ? "1 error in the text"
                                : std::to_string(errors) + " errors in the text";
  return head;
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
