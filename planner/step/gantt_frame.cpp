// SPDX-License-Identifier: Apache-2.0
#include "planner/step/internal/gantt_frame.hpp"

#include <algorithm>

namespace foretrain::gantt {
namespace {

constexpr double wanted_pass = 9.0;  ///< width of a pass from which a picture is easy to read
constexpr double least_pass = 2.5;   ///< below it passes are drawn as they dominate a pixel
constexpr std::size_t most_boxes = 30000;

/// One of the two bands of a lane.
struct Band {
  std::size_t stage = 0;
  bool work = true;
};

void add_boxes(const Frame& frame, const Panel& panel, Band band,
               const std::vector<GanttSpan>& spans, std::vector<Box>& boxes) {
  for (const GanttSpan& span : spans) {
    const Seconds from = max(span.from, panel.window.from);
    const Seconds to = min(span.to, panel.window.to);
    if (to <= from) continue;
    boxes.push_back({span, band.stage, frame.x(panel, from), frame.band_y(band.stage, band.work),
                     (to - from).value() * frame.scale, frame.band_height(band.work)});
  }
}

std::size_t spans_in(const std::vector<GanttSpan>& spans, const GanttWindow& window) {
  return static_cast<std::size_t>(std::count_if(
      spans.begin(), spans.end(),
      [&](const GanttSpan& span) { return span.from < window.to && span.to > window.from; }));
}

/// What dominates each pixel, as spans: for more than can be drawn.
/// Passes stay apart where they are `wide`.
std::vector<GanttSpan> dominant(const GanttLane& lane, const GanttWindow& window, double width,
                                bool wide) {
  const int cells = std::max(1, static_cast<int>(width));
  const auto found = gantt_cells(lane, window, cells);
  const Seconds cell = window.length() / cells;
  std::vector<GanttSpan> spans;
  for (std::size_t at = 0; at < found.size();) {
    std::size_t end = at;
    while (end < found.size() && found[end].role == found[at].role &&
           found[end].chunk == found[at].chunk && (!wide || found[end].micro == found[at].micro))
      ++end;
    if (found[at].role)
      spans.push_back({window.from + static_cast<double>(at) * cell,
                       window.from + static_cast<double>(end) * cell, *found[at].role,
                       wide ? found[at].micro : -1, found[at].chunk});
    at = end;
  }
  return spans;
}

}  // namespace

Frame frame_of(const std::vector<GanttLane>& lanes, Seconds makespan) {
  Frame frame;
  frame.stages = lanes.size();
  frame.lane = std::clamp(560.0 / static_cast<double>(lanes.size()), 13.0, 40.0);
  const auto windows = gantt_windows(lanes, makespan, plot_width / wanted_pass);
  Seconds drawn;
  for (const GanttWindow& window : windows) drawn += window.length();
  frame.scale =
      (plot_width - break_width * static_cast<double>(windows.size() - 1)) / drawn.value();
  double x = left;
  for (const GanttWindow& window : windows) {
    frame.panels.push_back({window, x});
    x += window.length().value() * frame.scale + break_width;
  }
  std::size_t boxes = 0;
  for (const GanttLane& lane : lanes) {
    for (const GanttSpan& span : lane.work) frame.chunks = std::max(frame.chunks, span.chunk + 1);
    for (const GanttWindow& window : windows)
      boxes += spans_in(lane.work, window) + spans_in(lane.traffic, window);
  }
  frame.wide = pass_length(lanes).value() * frame.scale >= least_pass;
  frame.exact = frame.wide && boxes <= most_boxes;
  return frame;
}

std::vector<Box> boxes_of(const Frame& frame, const std::vector<GanttLane>& lanes) {
  std::vector<Box> boxes;
  for (const Panel& panel : frame.panels)
    for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
      const double width = panel.window.length().value() * frame.scale;
      if (frame.exact) {
        add_boxes(frame, panel, {stage, true}, lanes[stage].work, boxes);
        add_boxes(frame, panel, {stage, false}, lanes[stage].traffic, boxes);
      } else {
        GanttLane work{lanes[stage].work, {}};
        GanttLane traffic{lanes[stage].traffic, {}};
        add_boxes(frame, panel, {stage, true}, dominant(work, panel.window, width, frame.wide),
                  boxes);
        add_boxes(frame, panel, {stage, false}, dominant(traffic, panel.window, width, frame.wide),
                  boxes);
      }
    }
  return boxes;
}

}  // namespace foretrain::gantt
