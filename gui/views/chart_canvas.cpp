// SPDX-License-Identifier: Apache-2.0
#include "gui/views/chart_canvas.hpp"

#include <QFontMetricsF>

#include <cmath>

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

Canvas::Canvas(QPainter& painter, const Theme& theme, std::vector<DrawnLabel>& labels)
    : painter_{painter}, theme_{theme}, labels_{labels} {}

QRectF Canvas::text(QPointF anchor, Qt::Alignment alignment, const QString& text,
                    const TextStyle& style, double room) {
  const QFontMetricsF metrics{style.font};
  QString shown = text;
  const bool cut = metrics.horizontalAdvance(text) > room + 0.5;
  if (cut) shown = metrics.elidedText(text, Qt::ElideRight, room);
  if (shown.isEmpty() || (cut && shown.size() < 2)) return {};
  const double width = std::ceil(metrics.horizontalAdvance(shown));
  QRectF box{anchor.x(), anchor.y(), width, metrics.height()};
  if (alignment & Qt::AlignRight) box.moveRight(anchor.x());
  if (alignment & Qt::AlignHCenter) box.moveLeft(anchor.x() - width / 2.0);
  if (alignment & Qt::AlignBottom) box.moveBottom(anchor.y());
  if (alignment & Qt::AlignVCenter) box.moveTop(anchor.y() - metrics.height() / 2.0);
  // Whole pixels keep the letters of neighbouring labels alike.
  box.moveTo(std::round(box.x()), std::round(box.y()));
  painter_.setFont(style.font);
  painter_.setPen(style.ink);
  painter_.drawText(QPointF{box.x(), box.y() + metrics.ascent()}, shown);
  labels_.push_back({shown, box, cut});
  return box;
}

QRectF Canvas::paragraph(QPointF corner, double width, const QString& text,
                         const TextStyle& style) {
  const QFontMetricsF metrics{style.font};
  const QRectF area{corner, QSizeF{width, 1e6}};
  const QRectF box = metrics.boundingRect(area, Qt::AlignLeft | Qt::TextWordWrap, text);
  painter_.setFont(style.font);
  painter_.setPen(style.ink);
  painter_.drawText(QRectF{corner, QSizeF{width, box.height() + 1.0}},
                    static_cast<int>(Qt::AlignLeft) | Qt::TextWordWrap, text);
  labels_.push_back({text, box, false});
  return box;
}

QRectF Canvas::upright(QPointF centre, const QString& text, const TextStyle& style) {
  const QFontMetricsF metrics{style.font};
  const double width = std::ceil(metrics.horizontalAdvance(text));
  painter_.save();
  painter_.translate(centre);
  painter_.rotate(-90.0);
  painter_.setFont(style.font);
  painter_.setPen(style.ink);
  painter_.drawText(QPointF{-width / 2.0, (metrics.ascent() - metrics.descent()) / 2.0}, text);
  painter_.restore();
  const QRectF box{centre.x() - metrics.height() / 2.0, centre.y() - width / 2.0, metrics.height(),
                   width};
  labels_.push_back({text, box, false});
  return box;
}

void Canvas::line(QPointF from, QPointF to, const QColor& ink, double width, Qt::PenStyle style) {
  const bool straight = from.x() == to.x() || from.y() == to.y();
  painter_.setRenderHint(QPainter::Antialiasing, !straight || width != std::floor(width));
  painter_.setPen(QPen{ink, width, style, Qt::FlatCap});
  painter_.drawLine(from, to);
  painter_.setRenderHint(QPainter::Antialiasing, true);
}

void Canvas::box(const QRectF& area, const QColor& paint, double radius) {
  painter_.setPen(Qt::NoPen);
  painter_.setBrush(paint);
  if (radius > 0.0)
    painter_.drawRoundedRect(area, radius, radius);
  else
    painter_.drawRect(area);
  painter_.setBrush(Qt::NoBrush);
}

void Canvas::frame(const QRectF& area, const QColor& ink, double width, double radius) {
  painter_.setBrush(Qt::NoBrush);
  painter_.setPen(QPen{ink, width});
  painter_.drawRoundedRect(area, radius, radius);
}

}  // namespace foretrain::gui
