// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QMetaType>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "planner/answer/answer.hpp"
#include "planner/diagnosis/diagnosis_report.hpp"
#include "planner/forecast/report.hpp"
#include "planner/step/step_losses.hpp"
#include "planner/step/step_slices.hpp"

namespace foretrain::gui {

/// What a text asks for, by its sections.
enum class TextKind {
  training,  ///< a scenario: the rest
  served,    ///< a scenario that serves or post-trains: one answer in words
  queue      ///< a cluster file, with `workload`
};
[[nodiscard]] TextKind text_kind(const std::string& text);

/// What a forecast is asked about.
struct Question {
  std::string text;                             ///< the scenario, YAML
  std::string name;                             ///< what messages call its file
  std::filesystem::path folder;                 ///< where its relative paths start
  EngineKind engine = EngineKind::closed_form;  ///< closed_form or path
  AttentionFlops convention = AttentionFlops::full;
  std::shared_ptr<const TrainingLog> log{};  ///< compared with the forecast; null: none
  std::uint64_t serial = 0;                  ///< of the edit that asked; a later one wins
};

/// A step by the event engine, played by `foretrain simulate --engine event --json` in a process of
/// its own.
struct EventAnswer {
  std::string json;  ///< schema prediction/1, as it came
  std::optional<StepForecast> step;
  std::optional<Efficiency> efficiency;
  std::vector<LinkUse> links;  ///< the busiest first
  std::chrono::milliseconds took{0};
};

/// All that one forecast knows, made once and shared by everything that shows it. Never changed
/// after it was handed out.
struct Study {
  Question question;
  TextKind kind = TextKind::training;
  std::vector<Diagnostic> diagnostics;  ///< what is wrong with the text; empty: there is a report
  std::string failure;                  ///< an error that no place in the text explains, or empty
  std::optional<Report> report;         ///< with its budget judged; may be infeasible
  std::shared_ptr<const StepLosses> losses;  ///< from peak to MFU, with levers; null: no step()
  /// Task graph and timeline, of a plan that does not fit as if it did; null: no step(), or see
  /// below.
  std::shared_ptr<const StepPath> path;
  bool path_due = false;  ///< the path takes longer: a second study of the same question has it
  std::string path_note;  ///< why there is no path although the plan can run, or empty
  std::shared_ptr<const EventAnswer> event;  ///< null until the event engine has played this text
  std::shared_ptr<const Answer> answer;     ///< of serving or a queue; null: another kind, or wrong
  std::shared_ptr<const Answer> diagnosis;  ///< of the question's log; null: see the note
  std::string diagnosis_note;               ///< why a log has no diagnosis, or empty
  std::chrono::microseconds took{0};        ///< to make this study, path included

  [[nodiscard]] bool valid() const { return report.has_value(); }
  [[nodiscard]] bool answered() const { return report || answer; }
  /// What the step takes, or would take on GPUs that hold the plan; null: neither is known.
  [[nodiscard]] const StepForecast* step() const {
    if (!report) return nullptr;
    const Prediction& p = report->prediction;
    return p.step ? &*p.step : p.if_it_fit ? &p.if_it_fit->step : nullptr;
  }
  [[nodiscard]] bool runs() const { return report && report->prediction.step.has_value(); }
};

using StudyPointer = std::shared_ptr<const Study>;

/// Steps with more passes than this get their path in a second study...
inline constexpr std::int64_t quick_passes = 20'000;
/// ... and with more than this none at all.
inline constexpr std::int64_t most_passes = 2'000'000;

/// Reads and forecasts. Never throws: whatever is wrong stands in the study. `stop` ends what takes
/// long; the study is of no use then.
[[nodiscard]] Study study_of(const Question& question, const std::atomic<bool>* stop = nullptr);

/// What a study says first, "NOT A SCENARIO" where its text has errors.
[[nodiscard]] AnswerHead head_of(const Study& study);

/// The same study with its path. @pre study.path_due
[[nodiscard]] Study with_path(Study study);

/// Draws with the numbers of the event engine: the same study, its answer attached.
[[nodiscard]] Study with_event(Study study, std::shared_ptr<const EventAnswer> answer);

}  // namespace foretrain::gui

Q_DECLARE_METATYPE(foretrain::gui::StudyPointer)
