// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "gui/views/computed_view.hpp"
#include "planner/sweep/scaling.hpp"

class QChart;
class QChartView;

namespace foretrain::gui {

/// Speed per GPU over the number of GPUs, with the batch as it is and with one that grows with the
/// machine, beside perfect scaling. A click on a machine puts it into the scenario.
class ScalingView : public ComputedView {
  Q_OBJECT

 public:
  explicit ScalingView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  /// Curves of Qt Charts: ideal, growing batch, same batch; fewer where machines cannot run.
  [[nodiscard]] const QChart& chart() const;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] Scene scene(const SceneSpace& space) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }
  void restyle() override;
  void computed() override { rebuild(); }
  void resizeEvent(QResizeEvent* event) override;

 private:
  void rebuild();
  void place();
  void add_curve(const std::vector<ScalingPoint>& points, const QString& name,
                 const QColor& colour);
  void add_ideal();
  void add_axes();
  void point_at(const ScalingPoint& point, const QPointF& value, bool inside);
  void pick_point(const ScalingPoint& point);

  QChartView* view_;
  std::shared_ptr<const Scaling> scaling_;
};

}  // namespace foretrain::gui
