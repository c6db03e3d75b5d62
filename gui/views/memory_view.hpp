// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/chart_view.hpp"
#include "planner/answer/memory_part.hpp"

namespace foretrain::gui {

/// The colour of a category of memory, the same in every view.
[[nodiscard]] QColor memory_colour(const Theme& theme, const MemoryPart& look);

/// Device memory of every pipeline stage as a stack of its categories, with the lines of what a
/// process can get and of what the device has. The legend carries the sizes of the picked stage,
/// of the heaviest where none is picked.
class MemoryView : public ChartView {
  Q_OBJECT

 public:
  using ChartView::ChartView;

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;

 private:
  struct Frame;

  [[nodiscard]] const MemoryForecast& memory() const { return *report().prediction.memory; }
  [[nodiscard]] int shown_stage() const;
  void draw_axis(Canvas& canvas, const Frame& frame) const;
  void draw_stack(Canvas& canvas, const Frame& frame, const StageMemory& stage);
  void draw_limits(Canvas& canvas, const Frame& frame) const;
  void draw_bar_labels(Canvas& canvas, const Frame& frame) const;
  void draw_side(Canvas& canvas, const QRectF& area);
};

}  // namespace foretrain::gui
