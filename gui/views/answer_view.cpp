// SPDX-License-Identifier: Apache-2.0
#include "gui/views/answer_view.hpp"

#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>

#include <utility>

#include "gui/views/answer_widgets.hpp"
#include "gui/views/chart_view.hpp"

namespace foretrain::gui {

AnswerView::AnswerView(Of of, QWidget* parent) : View{parent}, of_{of}, area_{new QScrollArea} {
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setAccessibleName(tr("Answer"));
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(0, 0, 0, 0);
  layout->addWidget(area_);
}

void AnswerView::show_study(StudyPointer study) {
  if (study == study_) return;
  study_ = std::move(study);
  restyle();
}

const Answer* AnswerView::answer() const {
  if (!study_) return nullptr;
  if (of_ == Of::diagnosis) return study_->diagnosis.get();
  const bool mine = (of_ == Of::serving) == (study_->kind == TextKind::served);
  return mine ? study_->answer.get() : nullptr;
}

QString AnswerView::message() const {
  if (answer() != nullptr) return {};
  if (study_ && (!study_->diagnostics.empty() || !study_->failure.empty()))
    return missing_step(study_);
  switch (of_) {
    case Of::serving:
      return tr(
          "This text does not ask for serving: open a scenario with a section `serving`, as "
          "scenarios/serving has them.");
    case Of::queue:
      return tr(
          "This text is no queue of a cluster: open a file with a section `workload`, as "
          "scenarios/clusters has them.");
    case Of::diagnosis:
      break;
  }
  if (study_ && !study_->diagnosis_note.empty())
    return QString::fromStdString(study_->diagnosis_note);
  return tr(
      "No log is open. Drop a training log on the window, or choose File, Compare with a log: "
      "it is compared with the forecast of this scenario.");
}

void AnswerView::restyle() {
  if (const Answer* const shown = answer(); shown != nullptr)
    return show_answer(*area_, *shown, theme());
  auto* sentence = new QLabel{message()};
  sentence->setAlignment(Qt::AlignCenter);
  sentence->setWordWrap(true);
  sentence->setMargin(24);
  sentence->setStyleSheet(QStringLiteral("color: %1;").arg(theme().muted.name()));
  area_->setWidget(sentence);
}

}  // namespace foretrain::gui
