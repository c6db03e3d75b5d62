// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/view.hpp"
#include "planner/answer/answer.hpp"

class QScrollArea;

namespace foretrain::gui {

/// The answer to a text that is no training run, or to a log: words, tables and pictures, as the
/// command of that name prints them.
class AnswerView : public View {
  Q_OBJECT

 public:
  /// What it shows: of a study's answers.
  enum class Of { serving, queue, diagnosis };

  explicit AnswerView(Of of, QWidget* parent = nullptr);

  void show_study(StudyPointer study) override;
  /// The sentence in place of an answer, or empty.
  [[nodiscard]] QString message() const;

 protected:
  void restyle() override;

 private:
  [[nodiscard]] const Answer* answer() const;

  Of of_;
  StudyPointer study_;
  QScrollArea* area_;
};

class ServingView : public AnswerView {
 public:
  explicit ServingView(QWidget* parent) : AnswerView{Of::serving, parent} {}
};
class QueueView : public AnswerView {
 public:
  explicit QueueView(QWidget* parent) : AnswerView{Of::queue, parent} {}
};
class DiagnosisView : public AnswerView {
 public:
  explicit DiagnosisView(QWidget* parent) : AnswerView{Of::diagnosis, parent} {}
};

}  // namespace foretrain::gui
