// SPDX-License-Identifier: Apache-2.0
#include "planner/step/internal/gantt_frame.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

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
      add_boxes(frame, panel, {stage, true}, lanes[stage].work, boxes);
      add_boxes(frame, panel, {stage, false}, lanes[stage].traffic, boxes);
    }
  return sliced(boxes);
}

namespace {

using Look = std::pair<TaskRole, int>;                                      // role, chunk
using Shares = std::map<Look, double>;                                      // of a pixel
using Pixels = std::map<long, Shares>;                                      // by column
using Bands = std::map<std::pair<double, double>, std::pair<Box, Pixels>>;  // by y and height

void add_to_pixels(const Box& box, Pixels& pixels) {
  for (double at = box.x; at < box.x + box.width;) {
    const double next = std::min(std::floor(at) + 1.0, box.x + box.width);
    pixels[static_cast<long>(std::floor(at))][{box.span.role, box.span.chunk}] += next - at;
    if (next <= at) break;
    at = next;
  }
}

constexpr double told_apart = 0.03;

bool alike(const Shares& a, const Shares& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](auto& x, auto& y) {
           return x.first == y.first && std::abs(x.second - y.second) < told_apart;
         });
}

}  // namespace

std::vector<Box> sliced(const std::vector<Box>& boxes) {
  constexpr double pixel = 1.0;
  std::vector<Box> result;
  Bands bands;
  for (const Box& box : boxes) {
    if (box.width >= pixel) {
      result.push_back(box);
      continue;
    }
    auto& [like, pixels] = bands.try_emplace({box.y, box.height}, box, Pixels{}).first->second;
    add_to_pixels(box, pixels);
  }
  for (const auto& [place, band] : bands) {
    const auto& [like, pixels] = band;
    for (auto first = pixels.begin(); first != pixels.end();) {
      auto last = std::next(first);
      long columns = 1;
      while (last != pixels.end() && last->first == first->first + columns &&
             alike(first->second, last->second)) {
        ++last;
        ++columns;
      }
      double y = like.y + like.height;
      for (const auto& [look, share] : first->second) {
        Box slice = like;
        slice.span.role = look.first;
        slice.span.chunk = look.second;
        slice.span.micro = -1;
        slice.x = static_cast<double>(first->first);
        slice.width = static_cast<double>(columns);
        slice.height = like.height * std::min(1.0, share);
        slice.y = y -= slice.height;
        slice.slice = true;
        result.push_back(slice);
      }
      first = last;
    }
  }
  return result;
}

}  // namespace foretrain::gantt
