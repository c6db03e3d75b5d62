// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QAbstractListModel>
#include <QListView>
#include <QString>
#include <optional>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/process/study.hpp"
#include "planner/page/compare.hpp"

namespace foretrain::gui {

/// A forecast that somebody looked at, and how to come back to it.
struct HistoryStep {
  QString text;     ///< the scenario
  QString name;     ///< given by the user, else what was changed
  QString verdict;  ///< of the forecast
  Tone tone = Tone::plain;
  std::optional<double> step_s;
  bool named = false;
};

/// The steps of an exploration, oldest first. The present one is where the next one follows.
class HistoryModel : public QAbstractListModel {
  Q_OBJECT

 public:
  enum Role { present_role = Qt::UserRole };
  static constexpr std::size_t most_steps = 200;

  explicit HistoryModel(QObject* parent = nullptr);

  /// Adds what is on the screen; a text that is there already becomes the present step, and one
  /// that differs from the present step in names and comments alone stays in it.
  void add(const Study& study);
  /// Another scenario was opened.
  void clear();
  [[nodiscard]] const HistoryStep& step(int row) const {
    return steps_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] int present() const { return present_; }

  [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
  /// How the step time of one changed from the first one's.
  [[nodiscard]] std::optional<FigureChange> change(int row, const Units& units) const;
  [[nodiscard]] QVariant data(const QModelIndex& index, int role) const override;
  /// Names a step.
  bool setData(const QModelIndex& index, const QVariant& value, int role = Qt::EditRole) override;
  [[nodiscard]] Qt::ItemFlags flags(const QModelIndex& index) const override;

 Q_SIGNALS:
  void present_changed(int row);

 private:
  void go_to(int row);

  std::vector<HistoryStep> steps_;
  int present_ = -1;
};

/// "tensor 8 → 4, data 16 → 32": what differs between two scenario texts, at most three keys.
[[nodiscard]] QString difference_label(const std::string& before, const std::string& after);

/// The exploration so far, left to right. A click restores a step, F2 names it.
class HistoryStrip : public QListView {
  Q_OBJECT

 public:
  explicit HistoryStrip(HistoryModel& model, QWidget* parent = nullptr);

  void set_theme(const Theme& theme);
  void set_units(const Units& units);
  [[nodiscard]] const Theme& theme() const { return *theme_; }
  [[nodiscard]] const Units& units() const { return units_; }
  [[nodiscard]] QSize sizeHint() const override;

 Q_SIGNALS:
  void restore_wanted(const QString& text, const QString& name);

 private:
  HistoryModel* steps_;
  const Theme* theme_;
  Units units_;
};

}  // namespace foretrain::gui
