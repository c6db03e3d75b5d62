// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "gui/views/chart_axis.hpp"
#include "gui/views/computed_view.hpp"
#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/validate.hpp"

namespace foretrain::gui {

/// Predicted against measured step times of the records that ship with the program: how far to
/// trust a forecast. Needs no scenario. Reads the records when it is first shown.
class ScatterView : public ComputedView {
  Q_OBJECT

 public:
  explicit ScatterView(QWidget* parent = nullptr);

  [[nodiscard]] QString csv() const override;
  /// Records that are drawn.
  [[nodiscard]] std::size_t points() const { return points_.size(); }

 protected:
  [[nodiscard]] QString missing() const override;
  [[nodiscard]] ChartHeadline headline() const override;
  void draw(Canvas& canvas, const QRectF& area) override;
  void showEvent(QShowEvent* event) override;

 private:
  void start();
  struct Measured {
    Validation validation;
    std::vector<LeftOutError> left_out;  ///< of the same runs, by profiles without their source
    std::string fitted;                  ///< date of the profiles
  };
  void take(std::shared_ptr<const Measured> measured);
  [[nodiscard]] std::vector<std::size_t> drawing_order() const;
  [[nodiscard]] std::ptrdiff_t records_of(std::size_t group) const;
  [[nodiscard]] ChartMark mark_of(const RecordCheck& check, const QRectF& area) const;
  void draw_points(Canvas& canvas, const QRectF& plot);
  void draw_band(Canvas& canvas, const QRectF& plot, double error, Qt::PenStyle style) const;
  void draw_side(Canvas& canvas, const QRectF& area) const;
  void draw_errors(Canvas& canvas, const QRectF& area) const;
  [[nodiscard]] QColor paint_of(std::size_t group) const;

  std::shared_ptr<const Measured> measured_;
  std::vector<const RecordCheck*> points_;
  std::vector<std::string> groups_;
  AxisScale x_;
  AxisScale y_;
};

}  // namespace foretrain::gui
