// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "gui/views/chart_view.hpp"
#include "planner/forecast/waterfall.hpp"

namespace foretrain::gui {

/// The way from the model's FLOPs at peak rate to the step that is forecast: a bar per loss, each
/// beginning where the one above it ends.
class WaterfallView : public ChartView {
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

  void draw_axis(Canvas& canvas, const Frame& frame) const;
  void draw_row(Canvas& canvas, const Frame& frame, std::size_t row, Seconds before);
  [[nodiscard]] QStringList cause_of(const WaterfallPart& part) const;
  void draw_total(Canvas& canvas, const Frame& frame);

  std::vector<WaterfallPart> parts_;
  Seconds step_;
};

}  // namespace foretrain::gui
