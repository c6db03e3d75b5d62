// SPDX-License-Identifier: Apache-2.0
#include "gui/views/scene_painter.hpp"

#include <QFontMetricsF>
#include <QPainter>

#include <cmath>

namespace foretrain::gui {
namespace {

QFont font_of(const SceneLetters& letters) {
  const QFont font = letters.size == LetterSize::title  ? title_font()
                     : letters.size == LetterSize::body ? body_font()
                                                        : small_font();
  return letters.bold ? bold(font) : font;
}

class WindowMetrics : public TextMetrics {
 public:
  [[nodiscard]] double width(const std::string& text, const SceneLetters& letters) const override {
    return QFontMetricsF{font_of(letters)}.horizontalAdvance(qt_text(text));
  }
  [[nodiscard]] double height(LetterSize size) const override {
    return QFontMetricsF{font_of({Ink::text, size})}.height();
  }
};

struct PaintOn {
  QPainter& painter;
  const Theme& theme;
  std::vector<DrawnLabel>& labels;

  [[nodiscard]] QPen pen(const SceneColour& ink, double width, bool dashed) const {
    return {colour_of(theme, ink), width, dashed ? Qt::DashLine : Qt::SolidLine, Qt::FlatCap};
  }
  void style(const std::optional<SceneColour>& fill, const std::optional<SceneColour>& ink,
             double width, bool dashed) const {
    painter.setPen(ink ? pen(*ink, width, dashed) : QPen{Qt::NoPen});
    painter.setBrush(fill ? QBrush{colour_of(theme, *fill)} : QBrush{Qt::NoBrush});
  }

  void operator()(const SceneText& text) const {
    const QRectF box = to_rect(text.box);
    const QFont font = font_of(text.letters);
    const QFontMetricsF metrics{font};
    painter.setFont(font);
    painter.setPen(colour_of(theme, text.letters.ink));
    painter.save();
    painter.translate(text.upright ? box.bottomLeft() : box.topLeft());
    if (text.upright) painter.rotate(-90.0);
    painter.drawText(QPointF{0.0, metrics.ascent()}, qt_text(text.text));
    painter.restore();
    labels.push_back({qt_text(text.text), box, text.cut});
  }
  void operator()(const SceneLine& line) const {
    const bool straight = line.from.x == line.to.x || line.from.y == line.to.y;
    painter.setRenderHint(QPainter::Antialiasing,
                          !straight || line.width != std::floor(line.width));
    painter.setPen(pen(line.ink, line.width, line.dashed));
    painter.drawLine(QPointF{line.from.x, line.from.y}, QPointF{line.to.x, line.to.y});
    painter.setRenderHint(QPainter::Antialiasing, true);
  }
  void operator()(const SceneBox& box) const {
    style(box.fill, box.ink, box.width, false);
    if (box.radius > 0.0)
      painter.drawRoundedRect(to_rect(box.area), box.radius, box.radius);
    else
      painter.drawRect(to_rect(box.area));
  }
  void operator()(const ScenePath& path) const {
    QPolygonF points;
    for (const ScenePoint& point : path.points) points << QPointF{point.x, point.y};
    style(path.fill, path.ink, path.width, path.dashed);
    if (path.fill)
      painter.drawPolygon(points);
    else
      painter.drawPolyline(points);
  }
  void operator()(const SceneDot& dot) const {
    if (dot.shape != DotShape::circle)
      return (*this)(ScenePath{dot.corners(), dot.fill, dot.ink, dot.width});
    style(dot.fill, dot.ink, dot.width, false);
    painter.drawEllipse(QPointF{dot.at.x, dot.at.y}, dot.radius, dot.radius);
  }
};

}  // namespace

const TextMetrics& window_metrics() {
  static const WindowMetrics metrics;
  return metrics;
}

QColor colour_of(const Theme& theme, const SceneColour& colour) {
  return veiled(QColor{QString::fromStdString(colour.hex(theme.dark()))}, colour.opacity);
}

void paint_scene(QPainter& painter, const Theme& theme, const Scene& scene,
                 std::vector<DrawnLabel>& labels) {
  for (const SceneItem& item : scene.items) std::visit(PaintOn{painter, theme, labels}, item);
}

}  // namespace foretrain::gui
