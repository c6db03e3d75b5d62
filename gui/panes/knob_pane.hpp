// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include <vector>

#include "gui/panes/knob_rules.hpp"

class QComboBox;
class QGridLayout;
class QLabel;
class QSlider;

namespace foretrain::gui {

/// Sliders and choices for the settings that are turned most.
class KnobPane : public QWidget {
  Q_OBJECT

 public:
  explicit KnobPane(QWidget* parent = nullptr);

  /// Follows the scenario. A study without a report leaves the knobs as they are.
  void set_study(const Study& study);

 Q_SIGNALS:
  /// Somebody turned a knob.
  void turned(const QStringList& settings, const QString& why);

 private:
  struct Row {
    const Knob* knob = nullptr;
    QLabel* label = nullptr;
    QSlider* slider = nullptr;
    QComboBox* box = nullptr;
    QLabel* value = nullptr;
    QStringList stops;
  };
  void add_slider(Row& row, QGridLayout& grid, int line);
  void add_box(Row& row, QGridLayout& grid, int line, int column);
  void show_row(Row& row);
  void turn(Row& row, int stop);

  std::vector<Row> rows_;
  KnobState state_;
};

}  // namespace foretrain::gui
