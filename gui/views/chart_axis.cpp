// SPDX-License-Identifier: Apache-2.0
#include "gui/views/chart_axis.hpp"
#include "planner/text/ticks.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace foretrain::gui {

void draw_x_axis(Canvas& canvas, const QRectF& plot, const std::vector<AxisTick>& ticks,
                 const QString& name) {
  const Theme& theme = canvas.theme();
  double free_from = -1e9;
  for (const AxisTick& tick : ticks) {
    const double x = std::round(tick.at) + 0.5;
    canvas.line({x, plot.top()}, {x, plot.bottom()}, theme.grid);
    const double half = text_width(tick.text, small_font()) / 2.0;
    if (tick.text.isEmpty() || x - half < free_from) continue;
    canvas.text({x, plot.bottom() + 5.0}, Qt::AlignHCenter | Qt::AlignTop, tick.text,
                {small_font(), theme.muted});
    free_from = x + half + 8.0;
  }
  canvas.text({plot.center().x(), plot.bottom() + 8.0 + line_height(small_font())},
              Qt::AlignHCenter | Qt::AlignTop, name, {small_font(), theme.muted}, plot.width());
}

void draw_y_axis(Canvas& canvas, const QRectF& plot, const std::vector<AxisTick>& ticks,
                 const QString& name) {
  const Theme& theme = canvas.theme();
  double widest = 0.0;
  double free_below = 1e9;
  for (const AxisTick& tick : ticks) {
    const double y = std::round(tick.at) + 0.5;
    canvas.line({plot.left(), y}, {plot.right(), y}, theme.grid);
    if (tick.text.isEmpty() || y + line_height(small_font()) / 2.0 > free_below) continue;
    canvas.text({plot.left() - 8.0, y}, Qt::AlignRight | Qt::AlignVCenter, tick.text,
                {small_font(), theme.muted});
    widest = std::max(widest, text_width(tick.text, small_font()));
    free_below = y - line_height(small_font()) / 2.0 - 2.0;
  }
  const double x = plot.left() - 14.0 - widest - line_height(small_font()) / 2.0;
  if (text_width(name, small_font()) < plot.height())
    canvas.upright({x, plot.center().y()}, name, {small_font(), theme.muted});
}

std::vector<AxisTick> even_axis(const AxisScale& scale, int most, const TickText& text) {
  std::vector<AxisTick> ticks;
  for (const double value : round_ticks(scale.low(), scale.high(), std::max(2, most)))
    ticks.push_back({scale.at(value), text(value)});
  return ticks;
}

std::vector<AxisTick> log_axis(const AxisScale& scale, int most, const TickText& text) {
  // Less than about a decade has too few powers and halves.
  if (scale.high() / scale.low() < 16.0) return even_axis(scale, most, text);
  std::vector<AxisTick> ticks;
  for (const LogTick& tick : log_ticks(scale.low(), scale.high(), std::max(2, most)))
    ticks.push_back({scale.at(tick.value), tick.strong ? text(tick.value) : QString{}});
  return ticks;
}

QRectF plot_inside(const QRectF& area, const QString& widest_number) {
  const double line = line_height(small_font());
  return area.adjusted(text_width(widest_number, small_font()) + line + 16.0, 6.0, -4.0,
                       -2.0 * line - 12.0);
}

bool PointLabels::place(Canvas& canvas, QPointF point, double radius, const QString& text,
                        const TextStyle& style) {
  const double width = std::ceil(text_width(text, style.font));
  const double height = line_height(style.font);
  const double away = radius + 4.0;
  const std::array<QPointF, 8> corners{QPointF{point.x() + away, point.y() - height / 2.0},
                                       QPointF{point.x() - away - width, point.y() - height / 2.0},
                                       QPointF{point.x() - width / 2.0, point.y() - away - height},
                                       QPointF{point.x() - width / 2.0, point.y() + away},
                                       QPointF{point.x() + away, point.y() - height - 2.0},
                                       QPointF{point.x() + away, point.y() + 2.0},
                                       QPointF{point.x() - away - width, point.y() - height - 2.0},
                                       QPointF{point.x() - away - width, point.y() + 2.0}};
  for (const QPointF& corner : corners) {
    const QRectF box = QRectF{corner, QSizeF{width, height}}.adjusted(-2.0, 0.0, 2.0, 0.0);
    if (!plot_.contains(box)) continue;
    if (std::any_of(taken_.begin(), taken_.end(),
                    [&](const QRectF& other) { return other.intersects(box); }))
      continue;
    canvas.text(corner, Qt::AlignLeft | Qt::AlignTop, text, style);
    taken_.push_back(box);
    return true;
  }
  return false;
}

}  // namespace foretrain::gui
