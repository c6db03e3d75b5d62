// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gui/views/chart_axis.hpp"
#include "gui/views/computed_view.hpp"
#include "planner/step/step_slices.hpp"

namespace foretrain::gui {

/// Device memory of one stage over the step, category by category: of the picked stage, of the
/// heaviest where none is picked. Page keys go to the next and the previous stage.
class CourseView : public ComputedView {
  Q_OBJECT

 public:
  explicit CourseView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  [[nodiscard]] bool settled() const override;
  void select(const foretrain::gui::Selection& selection) override;
  [[nodiscard]] const MemoryCourse* course() const { return course_.get(); }

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void start(int stage);
  void draw_areas(Canvas& canvas, const QRectF& plot) const;
  void draw_limits(Canvas& canvas, const QRectF& plot) const;
  void draw_peak(Canvas& canvas, const QRectF& plot) const;
  void draw_pointer(Canvas& canvas, const QRectF& plot) const;
  [[nodiscard]] MemoryPoint at(Seconds time) const;
  [[nodiscard]] const MemoryForecast& memory() const { return *report().prediction.memory; }

  std::shared_ptr<const MemoryCourse> course_;
  int stage_ = 0;
  AxisScale x_;  ///< seconds
  AxisScale y_;  ///< bytes
  double pointer_ = -1.0;
};

}  // namespace foretrain::gui
