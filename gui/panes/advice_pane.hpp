// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QScrollArea>

#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/panes/advice.hpp"

class QVBoxLayout;

namespace foretrain::gui {

/// Advice as cards, each fix a button.
class AdvicePane : public QScrollArea {
  Q_OBJECT

 public:
  explicit AdvicePane(QWidget* parent = nullptr);

  void show_advice(std::vector<Advice> advice);
  void set_theme(const Theme& theme);
  [[nodiscard]] const std::vector<Advice>& shown() const { return advice_; }

 Q_SIGNALS:
  void fix_wanted(const foretrain::gui::Fix& fix);

 private:
  void rebuild();
  [[nodiscard]] QWidget* make_card(const Advice& advice);

  std::vector<Advice> advice_;
  const Theme* theme_;
};

}  // namespace foretrain::gui
