// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QListView>

#include "gui/looks/theme.hpp"
#include "gui/looks/units.hpp"
#include "gui/panes/history_model.hpp"

namespace foretrain::gui {

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
