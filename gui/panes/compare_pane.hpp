// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QWidget>

#include "gui/looks/theme.hpp"
#include "gui/process/study.hpp"

class QLabel;
class QPushButton;
class QScrollArea;

namespace foretrain::gui {

/// A pinned forecast against the present one, as `foretrain compare` answers.
class ComparePane : public QWidget {
  Q_OBJECT

 public:
  explicit ComparePane(QWidget* parent = nullptr);

  /// Null: nothing is pinned any more.
  void pin(StudyPointer study);
  void set_study(const StudyPointer& study);
  void set_theme(const Theme& theme);
  [[nodiscard]] const StudyPointer& pinned() const { return pinned_; }

 Q_SIGNALS:
  void pin_changed();
  void restore_wanted(const QString& text, const QString& name);

 protected:
  void showEvent(QShowEvent* event) override;

 private:
  void refresh();

  StudyPointer pinned_;
  StudyPointer present_;
  const Theme* theme_;
  QLabel* heading_;
  QPushButton* restore_;
  QPushButton* unpin_;
  QScrollArea* area_;
};

}  // namespace foretrain::gui
