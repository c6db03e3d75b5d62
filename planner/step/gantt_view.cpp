// SPDX-License-Identifier: Apache-2.0

#include "planner/step/internal/gantt_view.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "models/base/percentile.hpp"
#include "models/base/require.hpp"

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

namespace foretrain {
namespace {

constexpr double together = 0.7;  // of the step: windows that cover more become one

bool is_pass(TaskRole role) {
  return role == TaskRole::forward || role == TaskRole::backward ||
         role == TaskRole::input_gradient || role == TaskRole::weight_gradient;
}

bool is_backward(TaskRole role) {
  return role == TaskRole::backward || role == TaskRole::input_gradient;
}

void add_span(std::vector<GanttSpan>& spans, const GanttSpan& next) {
  constexpr Seconds touching{1e-12};
  if (!spans.empty()) {
    GanttSpan& last = spans.back();
    if (last.role == next.role && last.micro == next.micro && last.chunk == next.chunk &&
        next.from - last.to < touching) {
      last.to = max(last.to, next.to);
      return;
    }
  }
  spans.push_back(next);
}

/// When every stage has done a first backward pass.
Seconds filled(const std::vector<GanttLane>& lanes) {
  Seconds latest;
  for (const GanttLane& lane : lanes) {
    const auto first = std::find_if(lane.work.begin(), lane.work.end(),
                                    [](const auto& span) { return is_backward(span.role); });
    if (first != lane.work.end()) latest = max(latest, first->to);
  }
  return latest;
}

/// When the first stage has no forward pass left to start.
Seconds draining(const std::vector<GanttLane>& lanes, Seconds makespan) {
  Seconds earliest = makespan;
  for (const GanttLane& lane : lanes) {
    const auto last = std::find_if(lane.work.rbegin(), lane.work.rend(),
                                   [](const auto& span) { return span.role == TaskRole::forward; });
    if (last != lane.work.rend()) earliest = min(earliest, last->from);
  }
  return earliest;
}

Seconds overlap(const GanttSpan& span, Seconds from, Seconds to) {
  return max(min(span.to, to) - max(span.from, from), Seconds{});
}

/// Adds up what the spans do in [from, to); `at` is the first span that may reach into it.
void weigh(const std::vector<GanttSpan>& spans, std::size_t& at, Seconds from, Seconds to,
           std::vector<std::pair<GanttCell, Seconds>>& weights) {
  while (at < spans.size() && spans[at].to <= from) ++at;
  for (std::size_t i = at; i < spans.size() && spans[i].from < to; ++i) {
    const GanttCell cell{spans[i].role, spans[i].micro, spans[i].chunk};
    const Seconds part = overlap(spans[i], from, to);
    const auto known = std::find_if(weights.begin(), weights.end(), [&](const auto& weight) {
      return weight.first.role == cell.role;
    });
    if (known == weights.end())
      weights.emplace_back(cell, part);
    else
      known->second += part;
  }
}

}  // namespace

Seconds GanttLane::busy() const {
  Seconds sum;
  Seconds until;
  for (const GanttSpan& span : work) {
    sum += max(span.to - max(span.from, until), Seconds{});
    until = max(until, span.to);
  }
  return sum;
}

std::vector<GanttLane> gantt_lanes(const TaskGraph& graph, const Timeline& timeline) {
  FORETRAIN_REQUIRE(timeline.end.size() == graph.tasks.size());
  std::vector<GanttLane> lanes(static_cast<std::size_t>(graph.ranks));
  for (std::size_t id = 0; id < graph.tasks.size(); ++id) {
    const Task& task = graph.tasks[id];
    if (timeline.end[id] <= timeline.start[id]) continue;
    GanttLane& lane = lanes[static_cast<std::size_t>(task.rank)];
    const bool traffic = beside_layers(task.stream) || task.stream == StreamKind::send ||
                         task.stream == StreamKind::receive;
    (traffic ? lane.traffic : lane.work)
        .push_back({timeline.start[id], timeline.end[id], task.role, task.micro, task.chunk});
  }
  for (GanttLane& lane : lanes)
    for (auto* spans : {&lane.work, &lane.traffic}) {
      std::stable_sort(spans->begin(), spans->end(),
                       [](const auto& a, const auto& b) { return a.from < b.from; });
      std::vector<GanttSpan> merged;
      for (const GanttSpan& span : *spans) add_span(merged, span);
      *spans = std::move(merged);
    }
  return lanes;
}

int forward_passes(const GanttLane& lane, const GanttWindow& window) {
  std::set<std::pair<int, int>> passes;  // a pass with exchanges inside is several spans
  for (const GanttSpan& span : lane.work)
    if (span.role == TaskRole::forward && span.from >= window.from && span.to <= window.to)
      passes.emplace(span.micro, span.chunk);
  return static_cast<int>(passes.size());
}

Seconds pass_length(const std::vector<GanttLane>& lanes) {
  std::vector<double> lengths;
  for (const GanttLane& lane : lanes)
    for (std::size_t at = 0; at < lane.work.size();) {
      const GanttSpan& first = lane.work[at];
      const bool interrupted = at + 1 < lane.work.size() && !is_pass(lane.work[at + 1].role);
      std::size_t last = at;
      // Exchanges belong to the pass that they interrupt.
      while (interrupted && last + 1 < lane.work.size() &&
             lane.work[last + 1].micro == first.micro && lane.work[last + 1].chunk == first.chunk)
        ++last;
      if (first.micro >= 0) lengths.push_back((lane.work[last].to - first.from).value());
      at = last + 1;
    }
  if (lengths.empty()) return Seconds{};
  return Seconds{percentile_of(lengths, 0.25)};
}

std::vector<GanttWindow> gantt_windows(const std::vector<GanttLane>& lanes, Seconds makespan,
                                       double units) {
  const Seconds room = units * pass_length(lanes);
  std::vector<GanttWindow> whole{{Seconds{}, makespan}};
  if (makespan <= room) return whole;
  Seconds head = filled(lanes);
  Seconds tail = makespan - draining(lanes, makespan);
  const Seconds spare = room - head - tail;
  if (spare > Seconds{}) {
    head += spare / 2.0;
    tail += spare / 2.0;
  }
  if (head + tail > together * makespan) return whole;
  return {{Seconds{}, head}, {makespan - tail, makespan}};
}

std::vector<GanttCell> gantt_cells(const GanttLane& lane, const GanttWindow& window, int cells) {
  FORETRAIN_REQUIRE(cells >= 1);
  std::vector<GanttCell> result;
  result.reserve(static_cast<std::size_t>(cells));
  const Seconds width = window.length() / cells;
  std::size_t work = 0;
  std::size_t traffic = 0;
  std::vector<std::pair<GanttCell, Seconds>> weights;
  const auto heaviest = [](const auto& a, const auto& b) { return a.second < b.second; };
  for (int i = 0; i < cells; ++i) {
    const Seconds from = window.from + i * width;
    const Seconds to = from + width;
    weights.clear();
    weigh(lane.work, work, from, to, weights);
    Seconds idle = width;
    for (const auto& weight : weights) idle -= weight.second;
    if (idle > 0.5 * width) {
      weights.clear();
      weigh(lane.traffic, traffic, from, to, weights);
      Seconds sum;
      for (const auto& weight : weights) sum += weight.second;
      if (sum < 0.5 * width) weights.clear();
    }
    const auto best = std::max_element(weights.begin(), weights.end(), heaviest);
    result.push_back(best == weights.end() ? GanttCell{} : best->first);
  }
  return result;
}

}  // namespace foretrain
