// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>

#include <array>
#include <cstddef>

#include "planner/text/palette.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain::gui {

enum class ThemeKind { light, dark };

/// Everything that is drawn is drawn with these; no view names a colour or a size of its own.
struct Theme {
  ThemeKind kind = ThemeKind::light;

  QColor window;     ///< behind everything
  QColor surface;    ///< cards, charts, panes
  QColor raised;     ///< buttons, inputs, headers, tooltips
  QColor hover;      ///< under the pointer
  QColor border;     ///< hairlines around surfaces
  QColor grid;       ///< of charts; quieter than border
  QColor text;       ///< body; contrast to surface above 7:1
  QColor muted;      ///< labels, axes; above 4.5:1
  QColor accent;     ///< selection, primary buttons, sliders
  QColor on_accent;  ///< text on accent
  QColor good;       ///< fits
  QColor caution;    ///< fits barely, warnings
  QColor bad;        ///< does not fit, errors
  QColor idle;       ///< bubbles and idle time

  /// series_paints of planner/text/palette.hpp: blue, orange, green, vermilion, sky, purple,
  /// yellow, grey.
  std::array<QColor, 8> series;

  int gap = 8;     ///< between parts; half and twice of it are the other distances
  int radius = 6;  ///< of corners
  int line = 2;    ///< width of a curve

  [[nodiscard]] bool dark() const { return kind == ThemeKind::dark; }
};

/// The two themes; they live as long as the program.
[[nodiscard]] const Theme& theme_of(ThemeKind kind);

/// A colour of the palette (planner/text/palette.hpp) on the ground of the theme.
[[nodiscard]] QColor colour_of(const Theme& theme, const Paint& paint);

/// Of words in a tone.
[[nodiscard]] QColor colour_of(const Theme& theme, Tone tone);

/// Black or white, whichever reads better on `ground`.
[[nodiscard]] QColor ink_on(const QColor& ground);

/// Fonts; sizes follow the application's font, so that high-DPI and user settings hold.
[[nodiscard]] QFont body_font();
[[nodiscard]] QFont small_font();     ///< axes, labels
[[nodiscard]] QFont title_font();     ///< of a card or a view
[[nodiscard]] QFont headline_font();  ///< the number of a card
[[nodiscard]] QFont mono_font();      ///< YAML, commands

[[nodiscard]] QPalette palette_of(const Theme& theme);
/// For QApplication::setStyleSheet().
[[nodiscard]] QString style_sheet(const Theme& theme);

}  // namespace foretrain::gui
