// SPDX-License-Identifier: Apache-2.0
#include "gui/views/chart_text.hpp"

#include <QFontMetricsF>

namespace foretrain::gui {

QColor blend(const QColor& from, const QColor& to, double share) {
  const auto part = [share](float a, float b) { return a + static_cast<float>(share) * (b - a); };
  return QColor::fromRgbF(part(from.redF(), to.redF()), part(from.greenF(), to.greenF()),
                          part(from.blueF(), to.blueF()));
}

QColor veiled(const QColor& colour, double opacity) {
  QColor result = colour;
  result.setAlphaF(static_cast<float>(opacity));
  return result;
}

double text_width(const QString& text, const QFont& font) {
  return QFontMetricsF{font}.horizontalAdvance(text);
}

double line_height(const QFont& font) { return QFontMetricsF{font}.height(); }

QFont bold(QFont font) {
  font.setWeight(QFont::DemiBold);
  return font;
}

}  // namespace foretrain::gui
