// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QRectF>
#include <QString>

#include <functional>
#include <vector>

#include "gui/views/chart_canvas.hpp"
#include "gui/views/chart_scale.hpp"

namespace foretrain::gui {

/// A labelled position of an axis; without text only a grid line.
struct AxisTick {
  double at = 0.0;  ///< pixel
  QString text;
};

/// Grid lines with numbers below a plot, and a name below them. Numbers that would touch are left
/// out.
void draw_x_axis(Canvas& canvas, const QRectF& plot, const std::vector<AxisTick>& ticks,
                 const QString& name);
/// The same to the left of a plot.
void draw_y_axis(Canvas& canvas, const QRectF& plot, const std::vector<AxisTick>& ticks,
                 const QString& name);

using TickText = std::function<QString(double value)>;
[[nodiscard]] std::vector<AxisTick> even_axis(const AxisScale& scale, int most,
                                              const TickText& text);
[[nodiscard]] std::vector<AxisTick> log_axis(const AxisScale& scale, int most,
                                             const TickText& text);

/// Where draw_y_axis() and draw_x_axis() find room: a plot inside `area`.
[[nodiscard]] QRectF plot_inside(const QRectF& area, const QString& widest_number);

/// Labels for points: each is put beside its point where it hits neither the plot's edge nor what
/// is there already; those without such a place are left out.
class PointLabels {
 public:
  explicit PointLabels(const QRectF& plot) : plot_{plot} {}
  /// Something that labels must not cover.
  void keep_clear(const QRectF& box) { taken_.push_back(box); }
  bool place(Canvas& canvas, QPointF point, double radius, const QString& text,
             const TextStyle& style);

 private:
  QRectF plot_;
  std::vector<QRectF> taken_;
};

}  // namespace foretrain::gui
