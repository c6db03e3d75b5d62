// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/chart_axis.hpp"
#include "gui/views/chart_view.hpp"
#include "planner/step/roofline.hpp"

namespace foretrain::gui {

/// Kernels under the roofs of the device: rate against FLOPs per byte, both logarithmic, a point as
/// large as the kernel's share of the time. A list tells the shares, also of kernels that no FLOPs
/// are counted of.
class RooflineView : public ChartView {
  Q_OBJECT

 public:
  using ChartView::ChartView;

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;

 private:
  struct Frame;

  void draw_roofs(Canvas& canvas, const Frame& frame, PointLabels& labels) const;
  void draw_points(Canvas& canvas, const Frame& frame, PointLabels& labels);
  void draw_list(Canvas& canvas, const QRectF& area);
  [[nodiscard]] ChartMark mark_of(const RooflineKernel& kernel, const QRectF& box) const;
  [[nodiscard]] QColor paint_of(const RooflineKernel& kernel) const;
  [[nodiscard]] bool picked(const RooflineKernel& kernel) const;

  Roofline roofline_;
};

}  // namespace foretrain::gui
