// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "planner/step/internal/gantt_view.hpp"

namespace foretrain::gantt {

// Pixels of the picture.
inline constexpr double left = 84.0;
inline constexpr double plot_width = 1400.0;
inline constexpr double break_width = 30.0;

/// A drawn stretch of time and where it begins.
struct Panel {
  GanttWindow window;
  double x = 0.0;
};

/// Where things lie.
struct Frame {
  std::vector<Panel> panels;
  double scale = 0.0;  ///< pixels per second
  double top = 0.0;    ///< of the first lane
  double lane = 0.0;   ///< distance of two lanes
  std::size_t stages = 0;
  bool wide = true;   ///< passes are wide enough to be told apart
  bool exact = true;  ///< few enough that each says what it is
  int chunks = 1;

  [[nodiscard]] double bottom() const { return top + lane * static_cast<double>(stages); }
  [[nodiscard]] double work_height() const { return lane * 0.64; }
  [[nodiscard]] double traffic_height() const { return lane * 0.2; }
  [[nodiscard]] double work_y(std::size_t stage) const {
    return top + lane * static_cast<double>(stage);
  }
  [[nodiscard]] double traffic_y(std::size_t stage) const {
    return work_y(stage) + work_height() + 1.0;
  }
  [[nodiscard]] double band_y(std::size_t stage, bool work) const {
    return work ? work_y(stage) : traffic_y(stage);
  }
  [[nodiscard]] double band_height(bool work) const {
    return work ? work_height() : traffic_height();
  }
  [[nodiscard]] double x(const Panel& panel, Seconds at) const {
    return panel.x + (at - panel.window.from).value() * scale;
  }
};

/// Everything but `top`, which the legend decides.
[[nodiscard]] Frame frame_of(const std::vector<GanttLane>& lanes, Seconds makespan);

/// A span where it is drawn.
struct Box {
  GanttSpan span;
  std::size_t stage = 0;
  double x = 0.0;
  double y = 0.0;
  double width = 0.0;
  double height = 0.0;
  bool slice = false;  ///< of many that are narrower than a pixel: as high as its share of time
};

/// Boxes that are narrower than a pixel as slices of the pixels that they lie in, each as high as
/// its share of the pixel's time; what is left of a pixel is idle. Neighbours that look the same
/// are one.
[[nodiscard]] std::vector<Box> sliced(const std::vector<Box>& boxes);

/// Everything that is drawn, window by window and lane by lane.
[[nodiscard]] std::vector<Box> boxes_of(const Frame& frame, const std::vector<GanttLane>& lanes);

}  // namespace foretrain::gantt
