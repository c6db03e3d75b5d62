// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/base/require.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/step/gantt.hpp"
#include "planner/step/internal/gantt_view.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

using gantt::Box;
using gantt::break_width;
using gantt::Frame;
using gantt::left;
using gantt::Panel;
using gantt::plot_width;
using Across = Scene::Across;

// Pixels.
constexpr double right = 72.0;
constexpr double below = 62.0;
constexpr std::size_t most_tips = 4000;

/// Later chunks are paler.
SceneColour colour_of(TaskRole role, int chunk, int chunks) {
  const double pale = chunks < 2 || chunk < 1 ? 0.0 : 0.55 * chunk / (chunks - 1);
  return {look_of(role).paint, 1.0 - pale};
}

std::string words_of(const Box& box) {
  std::string text = fmt::format("stage {}: {}", box.stage, look_of(box.span.role).name);
  if (box.span.micro >= 0) text += fmt::format(", micro-batch {}", box.span.micro);
  return fmt::format("{}, {} from {}", text, seconds_text(box.span.length()),
                     seconds_text(box.span.from));
}

SceneArea area_of(const Box& box) {
  // A hair of ground between neighbours shows where one pass ends.
  const double gap = box.width > 3.0 && !box.slice ? 0.7 : 0.0;
  return {box.x, box.y, box.width - gap, box.height};
}

/// Those of one colour one after the other.
std::vector<Box> by_colour(std::vector<Box> boxes) {
  std::ranges::stable_sort(boxes, {},
                           [](const Box& box) { return std::pair(box.span.role, box.span.chunk); });
  return boxes;
}

void add_boxes(Scene& scene, const Frame& frame, const std::vector<Box>& boxes) {
  const bool tips = frame.exact && boxes.size() <= most_tips;
  for (const Box& box : boxes) {
    scene.box(area_of(box), colour_of(box.span.role, box.span.chunk, frame.chunks));
    if (tips && !box.slice) scene.marks.push_back({area_of(box), words_of(box)});
  }
}

/// Numbers of micro-batches inside passes: of all of a kind that have room for the longest, or of
/// none.
void add_numbers(Scene& scene, const Frame& frame, const std::vector<Box>& boxes) {
  if (!frame.wide || frame.work_height() < scene.line_height()) return;
  int most = 0;
  for (const Box& box : boxes) most = std::max(most, box.span.micro);
  const double room = scene.text_width(std::to_string(most)) + 3.0;
  for (const Box& box : boxes) {
    if (box.slice || box.span.micro < 0 || box.height < frame.work_height() || box.width < room)
      continue;
    const TaskRole role = box.span.role;
    const bool on_dark =
        box.span.chunk == 0 && (role == TaskRole::forward || role == TaskRole::weight_gradient ||
                                role == TaskRole::input_gradient);
    scene.text(area_of(box).centre(), Across::middle, Scene::Down::middle,
               std::to_string(box.span.micro), {on_dark ? Ink::surface : Ink::text});
  }
}

/// Neighbouring tasks of the critical path in one band of one lane.
struct PathRun {
  Seconds from;
  Seconds to;
  std::size_t stage = 0;
  bool work = true;
};

std::vector<PathRun> path_runs(const TaskGraph& graph, const Timeline& timeline) {
  std::vector<PathRun> runs;
  for (const std::uint32_t id : critical_path(graph, timeline)) {
    const Task& task = graph.tasks[id];
    if (timeline.end[id] <= timeline.start[id]) continue;
    const bool work = !beside_layers(task.stream) && task.stream != StreamKind::send &&
                      task.stream != StreamKind::receive;
    const auto stage = static_cast<std::size_t>(task.rank);
    if (!runs.empty() && runs.back().stage == stage && runs.back().work == work)
      runs.back().to = timeline.end[id];
    else
      runs.push_back({timeline.start[id], timeline.end[id], stage, work});
  }
  return runs;
}

void outline(Scene& scene, std::vector<ScenePoint> points) {
  scene.add(ScenePath{std::move(points), std::nullopt, Ink::text, 1.6});
}

/// The critical path: its tasks outlined, and a line wherever it goes on in another band.
void add_path(Scene& scene, const Frame& frame, const std::vector<PathRun>& runs) {
  for (const Panel& panel : frame.panels)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const PathRun& run = runs[i];
      const Seconds from = max(run.from, panel.window.from);
      const Seconds to = min(run.to, panel.window.to);
      if (to <= from) continue;
      const double begin = frame.x(panel, from);
      const double end_x = frame.x(panel, to);
      const double top = frame.band_y(run.stage, run.work);
      const double bottom = top + frame.band_height(run.work);
      outline(scene, {{begin, top}, {end_x, top}, {end_x, bottom}, {begin, bottom}, {begin, top}});
      if (i + 1 >= runs.size() || run.to > panel.window.to) continue;
      const PathRun& next = runs[i + 1];
      const double there = frame.band_y(next.stage, next.work);
      outline(scene, there > top
                         ? std::vector<ScenePoint>{{end_x, bottom}, {end_x, there}}
                         : std::vector<ScenePoint>{{end_x, top},
                                                   {end_x, there + frame.band_height(next.work)}});
    }
}

void add_ground(Scene& scene, const Frame& frame) {
  for (const Panel& panel : frame.panels)
    for (std::size_t stage = 0; stage < frame.stages; ++stage)
      scene.box({panel.x, frame.work_y(stage), panel.window.length().value() * frame.scale,
                 frame.work_height()},
                Ink::idle);
}

void add_axis(Scene& scene, const Frame& frame) {
  const double y = frame.bottom() + 4.0;
  const Seconds tick = Seconds{round_step(plot_width / frame.scale, 12)};
  for (const Panel& panel : frame.panels) {
    scene.line({panel.x, y}, {panel.x + panel.window.length().value() * frame.scale, y},
               Ink::muted);
    for (double k = std::ceil(panel.window.from / tick - 1e-9); k * tick <= panel.window.to;
         k += 1.0) {
      const double x = frame.x(panel, k * tick);
      scene.line({x, y}, {x, y + 5.0}, Ink::muted);
      scene.text({x, y + 8.0}, Across::middle, Scene::Down::top, seconds_text(k * tick));
    }
  }
}

/// The cut in the time axis, and what it leaves out.
void add_cut(Scene& scene, const Frame& frame, const std::vector<GanttLane>& lanes) {
  if (frame.panels.size() < 2) return;
  const GanttWindow& before = frame.panels[0].window;
  const GanttWindow& after = frame.panels[1].window;
  const double x = frame.panels[1].x - break_width / 2.0;
  const double y = frame.bottom() + 4.0;
  for (const double shift : {-5.0, 1.0})
    scene.line({x + shift, y + 6.0}, {x + shift + 5.0, y - 6.0}, Ink::muted);
  scene.text({x, y + 28.0}, Across::middle, Scene::Down::top,
             fmt::format("{} not drawn: {} more forward passes of stage 0 in the same rhythm",
                         seconds_text(after.from - before.to),
                         forward_passes(lanes.front(), {before.to, after.from})));
}

std::vector<LegendEntry> legend_of(const Frame& frame, const std::vector<Box>& boxes) {
  std::set<TaskRole> seen;
  for (const Box& box : boxes) seen.insert(box.span.role);
  std::vector<LegendEntry> entries;
  for (const TaskLook& look : task_looks)
    if (seen.contains(look.role)) entries.push_back({look.paint, look.name});
  entries.push_back({Ink::idle, "idle"});
  entries.push_back({Ink::text, "critical path (outlined)"});
  if (frame.chunks > 1)
    entries.push_back({colour_of(TaskRole::forward, frame.chunks - 1, frame.chunks),
                       fmt::format("paler: chunk 1{}", frame.chunks > 2 ? " and later" : "")});
  return entries;
}

void add_lanes(Scene& scene, const Frame& frame, const std::vector<GanttLane>& lanes,
               Seconds makespan) {
  const double beside = left + plot_width + 12.0;
  scene.text({beside, frame.top - 4.0}, Across::start, Scene::Down::bottom, "busy");
  for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
    const double y = frame.work_y(stage) + frame.work_height() / 2.0;
    scene.text({left - 10.0, y}, Across::end, Scene::Down::middle, fmt::format("stage {}", stage),
               {Ink::text});
    scene.text({beside, y}, Across::start, Scene::Down::middle,
               fixed_text(100.0 * (lanes[stage].busy() / makespan), 0) + " %", {Ink::text});
  }
}

}  // namespace

Scene gantt_chart(const TaskGraph& graph, const Timeline& timeline, const GanttTitle& title) {
  FORETRAIN_REQUIRE(!graph.tasks.empty() && timeline.makespan > Seconds{});
  const std::vector<GanttLane> lanes = gantt_lanes(graph, timeline);
  Frame frame = gantt::frame_of(lanes, timeline.makespan);
  const std::vector<LegendEntry> legend = legend_of(frame, boxes_of(frame, lanes));

  Scene scene{picture_space(title.name, left + plot_width + right)};
  SceneArea area = scene.headline({title.details});
  area = {left, area.top, plot_width, area.height};
  frame.top = area.top + add_legend(scene, area, legend) + scene.line_height() + 8.0;
  scene.space.height = frame.bottom() + below;
  const std::vector<Box> boxes = by_colour(boxes_of(frame, lanes));
  add_ground(scene, frame);
  add_boxes(scene, frame, boxes);
  add_numbers(scene, frame, boxes);
  add_path(scene, frame, path_runs(graph, timeline));
  add_lanes(scene, frame, lanes, timeline.makespan);
  add_axis(scene, frame);
  add_cut(scene, frame, lanes);
  return scene;
}

}  // namespace foretrain
