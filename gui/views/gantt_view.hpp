// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gui/views/chart_view.hpp"
#include "gui/views/computed_view.hpp"
#include "gui/views/gantt_canvas.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain::gui {

/// The step on a time axis, a lane per pipeline stage: passes with their micro-batches, exchanges
/// below them, idle time as ground, the longest path underlined.
class GanttView : public ChartView {
  Q_OBJECT

 public:
  explicit GanttView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  [[nodiscard]] bool settled() const override;
  void select(const foretrain::gui::Selection& selection) override;
  [[nodiscard]] GanttCanvas& canvas() { return *canvas_; }
  [[nodiscard]] const GanttPicture* picture() const { return picture_.get(); }

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  void renew() override;
  void restyle() override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void place_canvas();
  void point(const GanttHit& hit, QPointF at);
  void pick_hit(const GanttHit& hit);
  void take(std::shared_ptr<const GanttPicture> picture);
  [[nodiscard]] SceneHeadline headline() const;
  [[nodiscard]] SceneArea plot(Scene& scene) const;
  [[nodiscard]] std::vector<LegendEntry> legend() const;

  GanttCanvas* canvas_;
  Background* background_;
  std::shared_ptr<const StepPath> drawn_;  ///< the path of picture_
  std::shared_ptr<const GanttPicture> picture_;
};

}  // namespace foretrain::gui
