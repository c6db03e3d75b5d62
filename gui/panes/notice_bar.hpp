// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFrame>
#include <QStringList>

#include <optional>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/panes/advice_pane.hpp"

class QHBoxLayout;
class QLabel;
class QPushButton;

namespace foretrain::gui {

/// Above the forecast: what keeps the text from having one, or the plan from running, with what
/// helps as buttons. Hidden while there is nothing of that kind.
class NoticeBar : public QFrame {
  Q_OBJECT

 public:
  explicit NoticeBar(QWidget* parent = nullptr);

  /// `older`: what is shown below belongs to the text before its errors.
  void show_notice(std::optional<Advice> notice, bool older);
  void set_theme(const Theme& theme);
  [[nodiscard]] const std::optional<Advice>& shown() const { return notice_; }

 Q_SIGNALS:
  void fix_wanted(const foretrain::gui::Fix& fix);

 protected:
  void resizeEvent(QResizeEvent* event) override;

 private:
  void add_button(const Fix& fix);
  void fit_labels();
  void write_text();

  QLabel* text_;
  QHBoxLayout* row_;
  std::optional<Advice> notice_;
  bool older_ = false;
  std::vector<QPushButton*> buttons_;
  const Theme* theme_;
};

}  // namespace foretrain::gui
