// SPDX-License-Identifier: Apache-2.0
#include "gui/views/view.hpp"

namespace foretrain::gui {

View::View(QWidget* parent) : QWidget{parent}, theme_{&theme_of(ThemeKind::light)} {}

void View::set_theme(const Theme& theme) {
  theme_ = &theme;
  restyle();
}

void View::set_units(const Units& units) {
  units_ = units;
  restyle();
}

void View::select(const Selection& /*selection*/) {}

void View::restyle() { update(); }

}  // namespace foretrain::gui
