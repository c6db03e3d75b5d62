// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QFont>
#include <QPainter>
#include <QRectF>
#include <QString>
#include <QStringList>

#include <string>
#include <utility>
#include <vector>

#include "gui/looks/theme.hpp"

namespace foretrain::gui {

/// How text is written.
struct TextStyle {
  QFont font;
  QColor ink;
};

/// A line of text and where it stands.
struct DrawnLabel {
  QString text;
  QRectF box;
  bool cut = false;  ///< only its beginning had room
};

[[nodiscard]] inline QString to_text(const std::string& text) {
  return QString::fromStdString(text);
}

[[nodiscard]] inline QStringList to_list(const std::vector<std::string>& texts) {
  QStringList list;
  for (const std::string& text : texts) list << to_text(text);
  return list;
}

/// The colour between two.
[[nodiscard]] QColor blend(const QColor& from, const QColor& to, double share);
/// The same colour, transparent to that share.
[[nodiscard]] QColor veiled(const QColor& colour, double opacity);

/// Draws what charts have in common, and remembers every label, so that tests can tell whether one
/// is cut off or lies on another.
class Canvas {
 public:
  Canvas(QPainter& painter, const Theme& theme, std::vector<DrawnLabel>& labels);

  [[nodiscard]] QPainter& painter() { return painter_; }
  [[nodiscard]] const Theme& theme() const { return theme_; }

  /// One line at `anchor`; the alignment says which point of the text stands there. Text wider than
  /// `room` is cut with an ellipsis; less than one letter of room draws nothing.
  QRectF text(QPointF anchor, Qt::Alignment alignment, const QString& text, const TextStyle& style,
              double room = 1e9);
  /// As many lines as the text needs at that width, from the upper left corner.
  QRectF paragraph(QPointF corner, double width, const QString& text, const TextStyle& style);
  /// Turned to run upwards, its middle at `centre`.
  QRectF upright(QPointF centre, const QString& text, const TextStyle& style);

  void remember(DrawnLabel label) { labels_.push_back(std::move(label)); }
  void line(QPointF from, QPointF to, const QColor& ink, double width = 1.0,
            Qt::PenStyle style = Qt::SolidLine);
  void box(const QRectF& area, const QColor& paint, double radius = 0.0);
  void frame(const QRectF& area, const QColor& ink, double width, double radius = 0.0);

 private:
  QPainter& painter_;
  const Theme& theme_;
  std::vector<DrawnLabel>& labels_;
};

[[nodiscard]] double text_width(const QString& text, const QFont& font);
[[nodiscard]] double line_height(const QFont& font);
[[nodiscard]] QFont bold(QFont font);

}  // namespace foretrain::gui
