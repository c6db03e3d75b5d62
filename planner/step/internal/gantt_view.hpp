// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "models/step/path.hpp"
#include "models/step/task_graph.hpp"

namespace foretrain {

/// Neighbouring tasks of one pass (layers, kernels, pieces), or one other task.
struct GanttSpan {
  Seconds from;
  Seconds to;
  TaskRole role = TaskRole::forward;
  int micro = -1;
  int chunk = 0;

  [[nodiscard]] Seconds length() const { return to - from; }
};

/// What one stage does, in order of time.
struct GanttLane {
  std::vector<GanttSpan> work;     ///< compute, copy, and exchanges that interrupt it
  std::vector<GanttSpan> traffic;  ///< transfers and data-parallel traffic

  /// Time with work.
  [[nodiscard]] Seconds busy() const;
};

/// @pre the timeline is the graph's own
[[nodiscard]] std::vector<GanttLane> gantt_lanes(const TaskGraph& graph, const Timeline& timeline);

/// A stretch of the time axis that is drawn.
struct GanttWindow {
  Seconds from;
  Seconds to;

  [[nodiscard]] Seconds length() const { return to - from; }
};

/// The whole step where `units` pass lengths cover it; else how it begins, until every stage has
/// finished a first backward pass, and how it ends, from the first stage that runs out of forward
/// passes. Both get more of the steady state where there is room for it.
[[nodiscard]] std::vector<GanttWindow> gantt_windows(const std::vector<GanttLane>& lanes,
                                                     Seconds makespan, double units);

/// Forward passes that begin and end in a window.
[[nodiscard]] int forward_passes(const GanttLane& lane, const GanttWindow& window);

/// The length that three quarters of the passes exceed, exchanges inside them included.
[[nodiscard]] Seconds pass_length(const std::vector<GanttLane>& lanes);

/// What fills most of a stretch of time; absent: nothing does.
struct GanttCell {
  std::optional<TaskRole> role;
  int micro = -1;
  int chunk = 0;

  friend bool operator==(const GanttCell&, const GanttCell&) = default;
};

/// `cells` equal stretches of a window; traffic counts where there is no work.
[[nodiscard]] std::vector<GanttCell> gantt_cells(const GanttLane& lane, const GanttWindow& window,
                                                 int cells);

}  // namespace foretrain

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
