// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractTableModel>

#include <optional>
#include <vector>

#include "gui/process/study.hpp"
#include "planner/page/compare.hpp"

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

}  // namespace foretrain::gui
