// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>
#include <QWidget>
#include <optional>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"
#include "planner/page/compare.hpp"

class QLabel;
class QPushButton;
class QSplitter;
class QTableView;

namespace foretrain::gui {

/// Two forecasts side by side: headline numbers, then settings, then rows of memory that differ.
class CompareModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    what_column,
    first_column,
    second_column,
    difference_column,
    ratio_column,
    column_count
  };
  enum Role { section_role = Qt::UserRole };  ///< bool: a heading

  explicit CompareModel(QObject* parent = nullptr);

  /// @pre both studies have a report
  void hold(const Study& pinned, const Study& present);
  void clear();
  [[nodiscard]] const std::optional<Comparison>& comparison() const { return comparison_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation,
                                    int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    QString what, first, second, difference, ratio;
    bool section = false;
  };
  void add_figures();
  void add_settings();
  void add_memory();

  std::optional<Comparison> comparison_;
  std::vector<Row> rows_;
};

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
