// SPDX-License-Identifier: Apache-2.0
#pragma once

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
