// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "gui/views/chart_axis.hpp"
#include "gui/views/computed_view.hpp"
#include "planner/solve/sensitivity.hpp"

namespace foretrain::gui {

/// What moving one input at a time down and up by a tenth does to the time, largest first.
class TornadoView : public ComputedView {
  Q_OBJECT

 public:
  explicit TornadoView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void renew() override;
  [[nodiscard]] bool waits_to_be_shown() const override { return true; }

 private:
  struct Frame;

  void draw_lever(Canvas& canvas, const Frame& frame, std::size_t row);
  void draw_unmoved(Canvas& canvas, const QRectF& area) const;

  std::shared_ptr<const Sensitivity> result_;
};

}  // namespace foretrain::gui
