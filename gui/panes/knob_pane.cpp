// SPDX-License-Identifier: Apache-2.0
#include "gui/panes/knob_pane.hpp"

#include <QComboBox>
#include <QGridLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QVBoxLayout>

#include "planner/text/format.hpp"

namespace foretrain::gui {

KnobPane::KnobPane(QWidget* parent) : QWidget{parent}, rows_(knobs().size()) {
  auto* both = new QVBoxLayout{this};
  both->setContentsMargins(12, 8, 12, 8);
  auto* sliders = new QGridLayout;
  auto* choices = new QGridLayout;
  both->addLayout(sliders);
  both->addLayout(choices);
  sliders->setVerticalSpacing(1);
  sliders->setColumnStretch(1, 1);
  choices->setColumnStretch(1, 1);
  choices->setColumnStretch(3, 1);
  int line = 0;
  int boxes = 0;
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    Row& row = rows_[i];
    row.knob = &knobs()[i];
    if (row.knob->slider) {
      add_slider(row, *sliders, line++);
    } else {
      add_box(row, *choices, boxes / 2, 2 * (boxes % 2));
      ++boxes;
    }
  }
}

void KnobPane::add_slider(Row& row, QGridLayout& grid, int line) {
  auto* label = row.label = new QLabel{tr(row.knob->label)};
  row.slider = new QSlider{Qt::Horizontal};
  row.value = new QLabel;
  label->setToolTip(tr(row.knob->help));
  label->setBuddy(row.slider);
  row.slider->setToolTip(tr(row.knob->help));
  row.slider->setPageStep(1);
  row.slider->setObjectName(QLatin1String("knob ") + QLatin1String(row.knob->path));
  row.slider->setAccessibleName(tr(row.knob->label));
  row.value->setAlignment(Qt::AlignRight | Qt::AlignVCenter);
  row.value->setMinimumWidth(
      QFontMetrics{row.value->font()}.horizontalAdvance(QStringLiteral("1,048,576")));
  grid.addWidget(label, line, 0);
  grid.addWidget(row.slider, line, 1);
  grid.addWidget(row.value, line, 2);
  connect(row.slider, &QSlider::valueChanged, this, [this, &row](int stop) { turn(row, stop); });
}

void KnobPane::add_box(Row& row, QGridLayout& grid, int line, int column) {
  auto* label = row.label = new QLabel{tr(row.knob->label)};
  row.box = new QComboBox;
  row.box->setToolTip(tr(row.knob->help));
  row.box->setObjectName(QLatin1String("knob ") + QLatin1String(row.knob->path));
  row.box->setAccessibleName(tr(row.knob->label));
  label->setToolTip(tr(row.knob->help));
  label->setBuddy(row.box);
  grid.addWidget(label, line, column);
  grid.addWidget(row.box, line, column + 1);
  connect(row.box, &QComboBox::activated, this, [this, &row](int stop) { turn(row, stop); });
}

void KnobPane::set_study(const Study& study) {
  if (!study.report) return;
  state_ = knob_state(*study.report);
  for (Row& row : rows_) show_row(row);
}

void KnobPane::show_row(Row& row) {
  const QString present = state_.value(row.knob->path);
  if (row.slider) {
    // Stops must not move under the hand that drags.
    const bool held = row.slider->isSliderDown() && row.stops.contains(present);
    if (!held) row.stops = knob_stops(*row.knob, state_);
    for (QWidget* part : {static_cast<QWidget*>(row.label), static_cast<QWidget*>(row.slider),
                          static_cast<QWidget*>(row.value)})
      part->setVisible(!row.stops.isEmpty());
    if (row.stops.isEmpty()) return;
    const QSignalBlocker quiet{row.slider};
    row.slider->setRange(0, static_cast<int>(row.stops.size()) - 1);
    if (!held) row.slider->setValue(static_cast<int>(row.stops.indexOf(present)));
    row.value->setText(QString::fromStdString(with_thousands(present.toLongLong())));
    return;
  }
  const QSignalBlocker quiet{row.box};
  row.stops = knob_stops(*row.knob, state_);
  row.box->clear();
  row.box->addItems(row.stops);
  row.box->setCurrentIndex(static_cast<int>(row.stops.indexOf(present)));
}

void KnobPane::turn(Row& row, int stop) {
  if (stop < 0 || stop >= row.stops.size()) return;
  const QString value = row.stops.at(stop);
  const QStringList settings = knob_settings(*row.knob, value, state_);
  // The next turn may come before the forecast: it starts from here.
  for (const QString& setting : settings) {
    const auto equals = setting.indexOf(QLatin1Char('='));
    state_.values.insert(setting.left(equals), setting.mid(equals + 1));
  }
  if (row.value) row.value->setText(QString::fromStdString(with_thousands(value.toLongLong())));
  Q_EMIT turned(settings, tr("%1").arg(tr(row.knob->label)));
}

}  // namespace foretrain::gui
