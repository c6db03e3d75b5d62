// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "planner/page/internal/page_parts.hpp"
#include "planner/page/internal/page_shell.hpp"
#include "planner/step/internal/gantt_view.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"

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

struct StepChart {
  std::vector<GanttLane> lanes;
  Seconds end;
  std::vector<GanttWindow> windows;
};

StepChart chart_of(const StepPath& path, std::size_t most) {
  StepChart chart{gantt_lanes(path.graph, path.timeline), path.timeline.makespan, {}};
  // Staggered stages end after the makespan, which is the pace of the steps.
  for (const Seconds at : path.timeline.end) chart.end = max(chart.end, at);
  chart.windows = windows_for(chart.lanes, chart.end, most);
  return chart;
}

std::string chart_sentence(const StepPath& path, const StepChart& chart) {
  std::string text =
      fmt::format("Critical path through the task graph: {} from the first pass to the last.",
                  seconds_text(path.timeline.makespan));
  if (std::abs(path.stretch() - 1.0) >= 0.0005)
    text += fmt::format(" The step lasts {} times what is drawn (stragglers, release).",
                        fixed_text(path.stretch(), 3));
  if (chart.windows.size() > 1)
    text += " The step is too long to list whole: its beginning and its end are here.";
  return text + " Work is above, transfers and reductions are below; grey is idle.";
}

AnswerLegend roles_of(const StepChart& chart) {
  std::array<bool, task_looks.size()> used{};
  for (const GanttLane& lane : chart.lanes)
    for (const auto* spans : {&lane.work, &lane.traffic})
      for (const GanttSpan& span : *spans) used.at(look_index(span.role)) = true;
  AnswerLegend legend;
  for (std::size_t i = 0; i < used.size(); ++i)
    if (used.at(i))
      legend.entries.push_back(
          {task_looks.at(i).paint, task_looks.at(i).letter, task_looks.at(i).name});
  return legend;
}

AnswerTable busy_table(const StepPath& path, const StepChart& chart) {
  AnswerTable table{{number_column("stage"), number_column("busy"), number_column("idle")}};
  for (std::size_t i = 0; i < chart.lanes.size(); ++i) {
    const double busy = chart.lanes[i].busy() / path.timeline.makespan;
    table.add({std::to_string(i), percent_text(busy), percent_text(std::max(0.0, 1.0 - busy))});
  }
  return table;
}

}  // namespace

Json gantt_tree(const StepPath& path, std::size_t most) {
  const StepChart chart = chart_of(path, most);
  const Clock clock = clock_for(chart.end);
  Json shown = Json::array();
  for (const GanttWindow& window : chart.windows)
    shown.push_back({clock.ticks(window.from), clock.ticks(window.to)});
  Json list = Json::array();
  for (const GanttLane& lane : chart.lanes)
    list.push_back({{"work", spans_tree(lane.work, chart.windows, clock)},
                    {"traffic", spans_tree(lane.traffic, chart.windows, clock)}});
  return {{"unit_s", clock.unit.value()},
          {"end", clock.ticks(chart.end)},
          {"makespan_s", number_or_null(path.timeline.makespan.value())},
          {"windows", std::move(shown)},
          {"lanes", std::move(list)},
          {"critical", critical_tree(path, chart.windows, clock)}};
}

std::string gantt_html(const StepPath& path, const std::string& side, int level) {
  const StepChart chart = chart_of(path, most_page_spans);
  return fmt::format("<section>\n<h{0} id=\"step-{1}\">One step, stage by stage</h{0}>\n", level,
                     side) +
         block_html(AnswerLine{chart_sentence(path, chart)}) +
         fmt::format(
             "<div class=\"step\" data-side=\"{}\"><noscript><p class=\"notice\">This chart is "
             "drawn by a script of the page, which is switched off here; nothing else needs one. "
             "<code>foretrain simulate SCENARIO --gantt step.svg</code> draws it as a picture."
             "</p></noscript></div>\n",
             side) +
         block_html(roles_of(chart)) +
         section_html(
             {"How busy every stage is", {busy_table(path, chart)}, AnswerPlace::everywhere, true},
             "", level) +
         "</section>\n";
}

}  // namespace foretrain
