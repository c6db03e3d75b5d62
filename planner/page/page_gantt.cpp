// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "planner/page/internal/page_tree.hpp"
#include "planner/step/internal/gantt_view.hpp"
#include "planner/text/task_looks.hpp"

namespace foretrain {
namespace {

/// Times as whole numbers of a unit, a hundred-millionth of the step or less.
struct Clock {
  Seconds unit;

  [[nodiscard]] std::int64_t ticks(Seconds at) const {
    return static_cast<std::int64_t>(std::llround(at / unit));
  }
};

Clock clock_for(Seconds makespan) {
  double unit = 1.0;
  while (makespan.value() / unit < 1e7) unit /= 10.0;
  return {Seconds{unit}};
}

std::size_t look_index(TaskRole role) {
  std::size_t at = 0;
  while (at + 1 < task_looks.size() && task_looks[at].role != role) ++at;
  return at;
}

bool inside(const GanttSpan& span, const std::vector<GanttWindow>& windows) {
  return std::any_of(windows.begin(), windows.end(), [&](const GanttWindow& window) {
    return span.to > window.from && span.from < window.to;
  });
}

/// Five numbers per span: start, length, role, micro-batch, chunk.
Json spans_tree(const std::vector<GanttSpan>& spans, const std::vector<GanttWindow>& windows,
                const Clock& clock) {
  Json list = Json::array();
  for (const GanttSpan& span : spans) {
    if (!inside(span, windows)) continue;
    const std::int64_t from = clock.ticks(span.from);
    list.insert(list.end(), {Json(from), Json(clock.ticks(span.to) - from),
                             Json(look_index(span.role)), Json(span.micro), Json(span.chunk)});
  }
  return list;
}

/// Four numbers per stretch of the critical path: lane, 0 for work or 1 for traffic, start, length.
Json critical_tree(const StepPath& path, const std::vector<GanttWindow>& windows,
                   const Clock& clock) {
  struct Stretch {
    std::int32_t lane = -1;
    bool traffic = false;
    GanttSpan span;
  };
  std::vector<Stretch> stretches;
  for (const std::uint32_t id : critical_path(path.graph, path.timeline)) {
    const Task& task = path.graph.tasks[id];
    const bool traffic = beside_layers(task.stream) || task.stream == StreamKind::send ||
                         task.stream == StreamKind::receive;
    const GanttSpan span{path.timeline.start[id], path.timeline.end[id], task.role, task.micro, 0};
    if (span.to <= span.from) continue;
    if (!stretches.empty() && stretches.back().lane == task.rank &&
        stretches.back().traffic == traffic)
      stretches.back().span.to = span.to;
    else
      stretches.push_back({task.rank, traffic, span});
  }
  Json list = Json::array();
  for (const Stretch& stretch : stretches) {
    if (!inside(stretch.span, windows)) continue;
    const std::int64_t from = clock.ticks(stretch.span.from);
    list.insert(list.end(), {Json(stretch.lane), Json(stretch.traffic ? 1 : 0), Json(from),
                             Json(clock.ticks(stretch.span.to) - from)});
  }
  return list;
}

/// The whole step, or as much of its beginning and its end as `most` spans allow.
std::vector<GanttWindow> windows_for(const std::vector<GanttLane>& lanes, Seconds makespan,
                                     std::size_t most) {
  std::size_t spans = 0;
  for (const GanttLane& lane : lanes) spans += lane.work.size() + lane.traffic.size();
  const Seconds pass = pass_length(lanes);
  if (spans <= most || pass <= Seconds{}) return {{Seconds{}, makespan}};
  const double units = makespan / pass * static_cast<double>(most) / static_cast<double>(spans);
  return gantt_windows(lanes, makespan, units);
}

}  // namespace

Json gantt_tree(const StepPath& path, std::size_t most) {
  const std::vector<GanttLane> lanes = gantt_lanes(path.graph, path.timeline);
  // Staggered stages end after the makespan, which is the pace of the steps.
  Seconds end = path.timeline.makespan;
  for (const Seconds at : path.timeline.end) end = max(end, at);
  const std::vector<GanttWindow> windows = windows_for(lanes, end, most);
  const Clock clock = clock_for(end);
  Json shown = Json::array();
  for (const GanttWindow& window : windows)
    shown.push_back({clock.ticks(window.from), clock.ticks(window.to)});
  Json list = Json::array();
  for (const GanttLane& lane : lanes)
    list.push_back({{"busy", number_or_null(lane.busy() / path.timeline.makespan)},
                    {"work", spans_tree(lane.work, windows, clock)},
                    {"traffic", spans_tree(lane.traffic, windows, clock)}});
  return {{"unit_s", clock.unit.value()},
          {"end", clock.ticks(end)},
          {"makespan_s", number_or_null(path.timeline.makespan.value())},
          {"stretch", number_or_null(path.stretch())},
          {"windows", std::move(shown)},
          {"lanes", std::move(list)},
          {"critical", critical_tree(path, windows, clock)}};
}

}  // namespace foretrain
