// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/compare_pane.hpp"

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>
#include <utility>

#include "gui/views/answer_widgets.hpp"
#include "planner/page/compare.hpp"

namespace foretrain::gui {

ComparePane::ComparePane(QWidget* parent)
    : QWidget{parent},
      theme_{&theme_of(ThemeKind::light)},
      heading_{new QLabel},
      restore_{new QPushButton{tr("Back to A")}},
      unpin_{new QPushButton{tr("Unpin")}},
      area_{new QScrollArea} {
  area_->setWidgetResizable(true);
  area_->setFrameShape(QFrame::NoFrame);
  area_->setAccessibleName(tr("Comparison"));
  heading_->setWordWrap(true);
  auto* top = new QHBoxLayout;
  top->addWidget(heading_, 1);
  top->addWidget(restore_);
  top->addWidget(unpin_);
  auto* layout = new QVBoxLayout{this};
  layout->setContentsMargins(10, 8, 10, 10);
  layout->addLayout(top);
  layout->addWidget(area_, 1);
  connect(unpin_, &QPushButton::clicked, this, [this] { pin(nullptr); });
  connect(restore_, &QPushButton::clicked, this, [this] {
    Q_EMIT restore_wanted(QString::fromStdString(pinned_->question.text),
                          tr("the pinned forecast"));
  });
  refresh();
}

void ComparePane::pin(StudyPointer study) {
  pinned_ = std::move(study);
  refresh();
  Q_EMIT pin_changed();
}

void ComparePane::set_study(const StudyPointer& study) {
  if (study == present_ || !study->valid()) return;
  present_ = study;
  refresh();
}

void ComparePane::set_theme(const Theme& theme) {
  theme_ = &theme;
  refresh();
}

void ComparePane::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  refresh();
}

void ComparePane::refresh() {
  const bool shown = pinned_ && present_;
  for (QWidget* part : {static_cast<QWidget*>(area_), static_cast<QWidget*>(restore_),
                        static_cast<QWidget*>(unpin_)})
    part->setVisible(shown);
  heading_->setText(
      shown ? tr("A is <b>%1</b> as pinned, B is what is on the screen")
                  .arg(QString::fromStdString(pinned_->report->scenario.job.name).toHtmlEscaped())
            : tr("Nothing is pinned. Pin a forecast (Ctrl+P), change something, and see here what "
                 "differs."));
  if (!shown || !isVisible()) return;
  show_answer(
      *area_,
      comparison_answer(compare({*pinned_->report, *present_->report}), CatalogValues::grouped),
      *theme_);
}

}  // namespace foretrain::gui
