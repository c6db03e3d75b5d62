// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QString>
#include <QWidget>

#include <vector>

#include "gui/looks/theme.hpp"

class QLabel;
class QPushButton;

namespace foretrain::gui {

/// One thing of the window, and what it is for.
struct TourStop {
  QWidget* place;
  QString title;
  QString text;
};

/// Shows the parts of a window one by one: everything else is faded, a card says what the part is
/// for. Enter and arrows go on, Escape ends it; it deletes itself then.
class Tour : public QWidget {
  Q_OBJECT

 public:
  /// @pre at least one stop; stops that are hidden are left out
  Tour(std::vector<TourStop> stops, const Theme& theme, QWidget* window);
  [[nodiscard]] int at() const { return at_; }
  [[nodiscard]] int stops() const { return static_cast<int>(stops_.size()); }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  void go_to(int stop);
  void lay_out();
  [[nodiscard]] QRect shown_part() const;

  std::vector<TourStop> stops_;
  int at_ = 0;
  const Theme* theme_;
  QWidget* card_;
  QLabel* title_;
  QLabel* text_;
  QPushButton* next_;
};

}  // namespace foretrain::gui
