// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QGraphicsItem>
#include <QGraphicsView>

#include <cstdint>
#include <memory>
#include <vector>

#include "gui/looks/theme.hpp"
#include "gui/views/gantt_rows.hpp"

namespace foretrain::gui {

/// Where a pointer is.
struct GanttHit {
  int stage = -1;
  std::int64_t task = -1;  ///< -1: idle
  Seconds time;
};

/// The lanes of a Gantt chart: time runs to the right in microseconds, a lane per stage. The wheel
/// zooms around the pointer (with Shift: moves sideways), dragging moves, a double click shows all.
/// Keys: + and - zoom, arrows move, 0 or Home shows all.
class GanttCanvas : public QGraphicsView {
  Q_OBJECT

 public:
  static constexpr double most_lane = 160.0;  ///< height of a lane

  explicit GanttCanvas(QWidget* parent);

  void set_picture(std::shared_ptr<const GanttPicture> picture);
  void set_theme(const Theme& theme);
  /// A stage or a task to stand out; -1: none.
  void set_picked(int stage, std::int64_t task);
  /// Idle time stands out, or does not.
  void set_bubbles_lit(bool lit);
  void show_all();
  /// Zooms by `factor`, the time at `x` (of the viewport) stays where it is.
  void zoom(double factor, double x);
  void pan(double pixels);

  [[nodiscard]] double lane_height() const { return lane_; }
  /// Seconds at both edges.
  [[nodiscard]] std::pair<Seconds, Seconds> visible() const;
  [[nodiscard]] double pixels_per_second() const;
  /// Of the middle of a lane, in the viewport.
  [[nodiscard]] double lane_y(int stage) const;
  [[nodiscard]] GanttHit hit(QPointF viewport_point) const;
  /// Where a time lies in the viewport.
  [[nodiscard]] double x_of(Seconds time) const;

 Q_SIGNALS:
  void moved();
  void pointed(const foretrain::gui::GanttHit& hit, QPointF viewport_point);
  void left();
  void clicked(const foretrain::gui::GanttHit& hit);

 protected:
  void wheelEvent(QWheelEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;
  void scrollContentsBy(int dx, int dy) override;

 private:
  class Lane;

  [[nodiscard]] QColor ground() const;
  void lay_out();
  void apply_scale();
  [[nodiscard]] double fitting_scale() const;

  QGraphicsScene* scene_;
  std::shared_ptr<const GanttPicture> picture_;
  std::vector<Lane*> lanes_;  ///< owned by the scene
  const Theme* theme_;
  double lane_ = 40.0;
  double scale_ = 1.0;  ///< pixels per microsecond
  bool bubbles_lit_ = false;
  bool fits_ = true;  ///< all is shown, also after a resize
  int picked_stage_ = -1;
  std::int64_t picked_task_ = -1;
  QPointF pressed_;
  bool dragging_ = false;
};

}  // namespace foretrain::gui

Q_DECLARE_METATYPE(foretrain::gui::GanttHit)
