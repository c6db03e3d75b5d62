// SPDX-License-Identifier: Apache-2.0
#include "gui/looks/theme.hpp"

#include <QApplication>
#include <QDir>
#include <QFontDatabase>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

// The resource lies in a static library: nothing else would link it. Must stand outside namespaces.
static void load_icons() { Q_INIT_RESOURCE(icons); }

namespace foretrain::gui {
namespace {

std::array<QColor, 8> series_of(const Theme& theme) {
  std::array<QColor, 8> series;
  for (std::size_t i = 0; i < series.size(); ++i) series[i] = colour_of(theme, series_paints[i]);
  return series;
}

Theme theme_on(ThemeKind kind) {
  Theme t;
  t.kind = kind;
  const auto ink = [&](Ink of) { return colour_of(t, look_of(of).paint); };
  t.window = ink(Ink::window);
  t.surface = ink(Ink::surface);
  t.raised = ink(Ink::raised);
  t.hover = ink(Ink::hover);
  t.border = ink(Ink::border);
  t.grid = ink(Ink::grid);
  t.text = ink(Ink::text);
  t.muted = ink(Ink::muted);
  t.accent = ink(Ink::accent);
  t.on_accent = t.dark() ? t.window : t.surface;
  t.good = ink(Ink::good);
  t.caution = ink(Ink::caution);
  t.bad = ink(Ink::bad);
  t.idle = ink(Ink::idle);
  t.series = series_of(t);
  return t;
}

/// WCAG 2.1, relative luminance.
double luminance(const QColor& colour) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) +
         0.0722 * linear(colour.blueF());
}

QFont scaled(double factor, QFont::Weight weight) {
  QFont font = QApplication::font();
  font.setPointSizeF(font.pointSizeF() * factor);
  font.setWeight(weight);
  return font;
}

// Lengths are device-independent: Qt scales style sheets with the screen.
const char* const sheet_template = R"(
* { outline: none; }
QWidget { color: @text; }
QMainWindow, QDialog, QSplitter, QScrollArea, QScrollArea > QWidget > QWidget { background: @window; }
QToolTip { background: @raised; color: @text; border: 1px solid @border; padding: 6px; }
QFrame[card="true"] { background: @surface; border: 1px solid @border; border-radius: 6px; }
QFrame[card="true"] QScrollArea, QFrame[card="true"] QScrollArea > QWidget > QWidget,
QFrame[card="true"] QSplitter { background: @surface; }
QFrame[inner="true"] { background: @raised; border: 1px solid @border; border-radius: 6px; }
QLabel[role="muted"] { color: @muted; }
QLabel[role="error"] { color: @bad; }
QMenuBar { background: @window; padding: 2px 6px; }
QMenuBar::item { padding: 4px 9px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: @hover; }
QMenu { background: @surface; border: 1px solid @border; padding: 5px; }
QMenu::item { padding: 5px 26px 5px 14px; border-radius: 4px; }
QMenu::item:selected { background: @accent; color: @onaccent; }
QMenu::item:disabled { color: @muted; }
QMenu::separator { height: 1px; background: @border; margin: 5px 8px; }
QToolBar { background: @window; border: none; border-bottom: 1px solid @border; padding: 4px 8px;
           spacing: 6px; }
QStatusBar { background: @window; border-top: 1px solid @border; color: @muted; }
QStatusBar::item { border: none; }
QPushButton, QToolButton { background: @raised; border: 1px solid @border; border-radius: 5px;
           padding: 5px 12px; }
QPushButton:hover, QToolButton:hover { background: @hover; }
QPushButton:pressed, QToolButton:pressed { background: @border; }
QPushButton:disabled, QToolButton:disabled { color: @muted; background: @window; }
QPushButton:focus, QToolButton:focus { border: 1px solid @accent; }
QPushButton[primary="true"] { background: @accent; color: @onaccent; border: 1px solid @accent; }
QPushButton[primary="true"]:disabled { background: @raised; color: @muted; border-color: @border; }
QPushButton:checked, QToolButton:checked { background: @accent; color: @onaccent; }
QToolButton::menu-indicator { image: none; width: 0px; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox, QPlainTextEdit, QTextEdit, QListView, QTreeView,
QTableView { background: @surface; border: 1px solid @border; border-radius: 5px;
           selection-background-color: @accent; selection-color: @onaccent; }
QLineEdit, QSpinBox, QDoubleSpinBox, QComboBox { padding: 3px 7px; min-height: 20px; }
QLineEdit:focus, QSpinBox:focus, QComboBox:focus, QPlainTextEdit:focus, QTreeView:focus,
QTableView:focus, QListView:focus { border: 1px solid @accent; }
QLineEdit[wrong="true"], QComboBox[wrong="true"] { border: 1px solid @bad; }
QLineEdit[given="false"], QComboBox[given="false"] { color: @muted; }
QComboBox::drop-down { border: none; width: 22px; }
QComboBox::down-arrow { image: url(:/foretrain/icons/down-@kind.png); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: @surface; border: 1px solid @border; padding: 3px; }
QCheckBox::indicator { width: 16px; height: 16px; border: 1px solid @muted; border-radius: 4px;
           background: @surface; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent;
           image: url(:/foretrain/icons/check-@kind.png); }
QCheckBox::indicator:focus { border-color: @accent; }
QTreeView::branch:has-children:closed { image: url(:/foretrain/icons/right-@kind.png); }
QTreeView::branch:has-children:open { image: url(:/foretrain/icons/down-@kind.png); }
QSlider { min-height: 20px; }
QSlider::groove:horizontal { height: 4px; background: @border; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; border-radius: 2px; }
QSlider::handle:horizontal { background: @surface; border: 2px solid @accent; width: 12px;
           height: 12px; margin: -6px 0; border-radius: 8px; }
QSlider::handle:horizontal:hover, QSlider::handle:horizontal:focus { background: @accent; }
QSlider::sub-page:horizontal:disabled { background: @border; }
QSlider::handle:horizontal:disabled { border-color: @border; }
QTabWidget::pane { border: 1px solid @border; border-radius: 6px; background: @surface; top: -1px; }
QTabBar { background: transparent; }
QTabBar::tab { background: transparent; color: @muted; padding: 7px 9px; border: none;
           border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:hover { color: @text; }
QTabBar::scroller { width: 40px; }
QSplitter::handle { background: @window; }
QSplitter::handle:hover { background: @accent; }
QHeaderView { background: @raised; border: none; }
QHeaderView::section { background: @raised; color: @muted; border: none;
           border-bottom: 1px solid @border; padding: 5px 8px; }
QTableView { gridline-color: @grid; alternate-background-color: @raised; }
QTableView::item, QTreeView::item, QListView::item { padding: 4px 6px; }
QTreeView::item:selected, QListView::item:selected, QTableView::item:selected {
           background: @accent; color: @onaccent; }
QListView::item:hover:!selected, QTreeView::item:hover:!selected { background: @hover; }
QTableCornerButton::section { background: @raised; border: none; }
QProgressBar { background: @border; border: none; border-radius: 3px; max-height: 6px;
           min-height: 6px; text-align: center; }
QProgressBar::chunk { background: @accent; border-radius: 3px; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollBar:vertical { background: transparent; width: 11px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 11px; margin: 0; }
QScrollBar::handle { background: @border; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: @muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
)";

}  // namespace

const Theme& theme_of(ThemeKind kind) {
  static const Theme light = theme_on(ThemeKind::light);
  static const Theme dark = theme_on(ThemeKind::dark);
  return kind == ThemeKind::dark ? dark : light;
}

QColor colour_of(const Theme& theme, const Paint& paint) {
  return QColor{QLatin1String(theme.dark() ? paint.dark : paint.light)};
}

QColor colour_of(const Theme& theme, Tone tone) {
  switch (tone) {
    case Tone::good:
      return theme.good;
    case Tone::bad:
      return theme.bad;
    case Tone::warn:
      return theme.caution;
    case Tone::dim:
      return theme.muted;
    case Tone::plain:
    case Tone::strong:
      break;
  }
  return theme.text;
}

QColor ink_on(const QColor& ground) {
  // Equal contrast to black and white: (1.05)/(L + 0.05) = (L + 0.05)/0.05.
  return luminance(ground) > 0.179 ? QColor{Qt::black} : QColor{Qt::white};
}

QFont body_font() { return QApplication::font(); }
QFont small_font() { return scaled(0.88, QFont::Normal); }
QFont title_font() { return scaled(1.0, QFont::DemiBold); }
QFont headline_font() { return scaled(1.7, QFont::DemiBold); }

QFont mono_font() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QApplication::font().pointSizeF());
  return font;
}

QPalette palette_of(const Theme& theme) {
  QPalette palette;
  palette.setColor(QPalette::Window, theme.window);
  palette.setColor(QPalette::WindowText, theme.text);
  palette.setColor(QPalette::Base, theme.surface);
  palette.setColor(QPalette::AlternateBase, theme.raised);
  palette.setColor(QPalette::Text, theme.text);
  palette.setColor(QPalette::PlaceholderText, theme.muted);
  palette.setColor(QPalette::Button, theme.raised);
  palette.setColor(QPalette::ButtonText, theme.text);
  palette.setColor(QPalette::ToolTipBase, theme.raised);
  palette.setColor(QPalette::ToolTipText, theme.text);
  palette.setColor(QPalette::Highlight, theme.accent);
  palette.setColor(QPalette::HighlightedText, theme.on_accent);
  palette.setColor(QPalette::Link, theme.accent);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, theme.muted);
  return palette;
}

QString style_sheet(const Theme& theme) {
  load_icons();
  QString sheet = QString::fromLatin1(sheet_template);
  const std::vector<std::pair<const char*, QString>> names{
      {"@onaccent", theme.on_accent.name()},
      {"@accent", theme.accent.name()},
      {"@window", theme.window.name()},
      {"@surface", theme.surface.name()},
      {"@raised", theme.raised.name()},
      {"@hover", theme.hover.name()},
      {"@border", theme.border.name()},
      {"@grid", theme.grid.name()},
      {"@text", theme.text.name()},
      {"@muted", theme.muted.name()},
      {"@good", theme.good.name()},
      {"@caution", theme.caution.name()},
      {"@bad", theme.bad.name()},
      {"@kind", theme.dark() ? QStringLiteral("dark") : QStringLiteral("light")}};
  for (const auto& [name, value] : names) sheet.replace(QLatin1String(name), value);
  return sheet;
}

}  // namespace foretrain::gui
