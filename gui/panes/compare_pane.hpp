// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/panes/compare_model.hpp"

class QLabel;
class QPushButton;
class QSplitter;
class QTableView;

namespace foretrain::gui {

/// From the step of one forecast to that of another, part by part.
class DifferenceChart : public QWidget {
  Q_OBJECT

 public:
  explicit DifferenceChart(QWidget* parent = nullptr);

  /// Null: nothing to show.
  void show_comparison(const Comparison* comparison);
  void set_theme(const Theme& theme);
  void set_units(const Units& units);
  [[nodiscard]] QSize minimumSizeHint() const override { return {260, 160}; }

  /// A bar: from and to in seconds of the step.
  struct Bar {
    QString key, label;
    double from = 0.0;
    double to = 0.0;
    bool total = false;
  };
  [[nodiscard]] const std::vector<Bar>& bars() const { return bars_; }

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  std::vector<Bar> bars_;
  const Theme* theme_;
  Units units_;
};

/// A pinned forecast against the present one.
class ComparePane : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePane(QWidget* parent = nullptr);

  /// Null: nothing is pinned any more.
  void pin(StudyPointer study);
  void set_study(const StudyPointer& study);
  void set_theme(const Theme& theme) { chart_->set_theme(theme); }
  void set_units(const Units& units) { chart_->set_units(units); }
  [[nodiscard]] const StudyPointer& pinned() const { return pinned_; }
  [[nodiscard]] CompareModel& model() { return *model_; }
  [[nodiscard]] const DifferenceChart& chart() const { return *chart_; }

 Q_SIGNALS:
  void pin_changed();
  void restore_wanted(const QString& text, const QString& name);

 private:
  void refresh();

  StudyPointer pinned_;
  StudyPointer present_;
  CompareModel* model_;
  QTableView* table_;
  DifferenceChart* chart_;
  QLabel* heading_;
  QPushButton* restore_;
  QPushButton* unpin_;
  QSplitter* halves_;
};

}  // namespace foretrain::gui
