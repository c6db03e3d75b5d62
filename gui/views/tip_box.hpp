// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QStringList>
#include <QWidget>

#include "gui/looks/theme.hpp"

namespace foretrain::gui {

/// What the pointer is over: a bold line, then more lines. Floats over its parent and never leaves
/// it; lets the pointer through.
class TipBox : public QWidget {
  Q_OBJECT

 public:
  explicit TipBox(QWidget* parent);

  /// Shows text beside a point of the parent. Lines with a tab have their end to the right,
  /// long ones without go on below.
  void show_at(QPointF point, const QString& title, const QStringList& lines, const Theme& theme);

 protected:
  void paintEvent(QPaintEvent* event) override;

 private:
  QString title_;
  QStringList lines_;
  const Theme* theme_ = nullptr;
};

}  // namespace foretrain::gui
