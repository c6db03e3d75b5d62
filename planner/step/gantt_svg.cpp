// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "models/base/require.hpp"
#include "planner/step/gantt.hpp"
#include "planner/step/internal/gantt_frame.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/task_looks.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

using gantt::Box;
using gantt::break_width;
using gantt::Frame;
using gantt::left;
using gantt::Panel;
using gantt::plot_width;

// Pixels.
constexpr double right = 72.0;
constexpr double legend_top = 88.0;
constexpr double legend_row = 22.0;
constexpr double below = 62.0;
constexpr double label_width = 7.0;  ///< of a character at 12 pixels, generously
constexpr std::size_t most_tips = 4000;

constexpr const char* idle_paint = "#e6e6e6";
constexpr const char* path_style = R"(fill="none" stroke="#000000" stroke-width="1.6")";

/// Later chunks are paler.
std::string paint_of(TaskRole role, int chunk, int chunks) {
  std::string paint = look_of(role).paint.light;
  if (chunks < 2 || chunk < 1) return paint;
  const double white = 0.55 * chunk / (chunks - 1);
  std::string result = "#";
  for (const std::size_t at : {1U, 3U, 5U}) {
    const int value = std::stoi(paint.substr(at, 2), nullptr, 16);
    result += fmt::format("{:02x}", static_cast<int>(value + (255 - value) * white));
  }
  return result;
}

std::string tip(const Box& box) {
  std::string text = fmt::format("stage {}: {}", box.stage, look_of(box.span.role).name);
  if (box.span.micro >= 0) text += fmt::format(", micro-batch {}", box.span.micro);
  return fmt::format("<title>{}, {} from {}</title>", text, seconds_text(box.span.length()),
                     seconds_text(box.span.from));
}

/// Boxes of one colour share a group, so that the file stays small.
std::string painted(const Frame& frame, const std::vector<Box>& boxes) {
  const bool tips = frame.exact && boxes.size() <= most_tips;
  std::set<std::pair<TaskRole, int>> paints;
  for (const Box& box : boxes) paints.emplace(box.span.role, box.span.chunk);
  std::string svg;
  for (const auto& [role, chunk] : paints) {
    svg += fmt::format("<g fill=\"{}\">\n", paint_of(role, chunk, frame.chunks));
    std::string shapes;
    for (const Box& box : boxes) {
      if (box.span.role != role || box.span.chunk != chunk) continue;
      // A hair of ground between neighbours shows where one pass ends.
      const double width = box.width - (box.width > 3.0 && !box.slice ? 0.7 : 0.0);
      if (tips && !box.slice)
        svg += fmt::format(
            "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\">{}</rect>\n", box.x,
            box.y, width, box.height, tip(box));
      else
        shapes += fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", box.x, box.y, width,
                              box.height, width);
    }
    if (!shapes.empty()) svg += "<path d=\"" + shapes + "\"/>\n";
    svg += "</g>\n";
  }
  return svg;
}

/// Numbers of micro-batches inside the passes that have room for them.
std::string numbers(const Frame& frame, const std::vector<Box>& boxes) {
  const double size = std::min(11.0, frame.work_height() - 3.0);
  if (!frame.wide || size < 7.0) return "";
  int most = 0;
  for (const Box& box : boxes) most = std::max(most, box.span.micro);
  // All passes of a kind that have room for the longest number, or none.
  const double room = 0.65 * size * static_cast<double>(std::to_string(most).size()) + 3.0;
  std::string light;
  std::string dark;
  for (const Box& box : boxes) {
    if (box.slice || box.span.micro < 0 || box.height < frame.work_height()) continue;
    const std::string text = std::to_string(box.span.micro);
    if (box.width < room) continue;
    const bool on_dark =
        (box.span.role == TaskRole::forward || box.span.role == TaskRole::weight_gradient ||
         box.span.role == TaskRole::input_gradient) &&
        box.span.chunk == 0;
    (on_dark ? light : dark) +=
        fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", box.x + box.width / 2.0 - 0.3,
                    box.y + box.height / 2.0 + 0.36 * size, text);
  }
  const std::string open =
      fmt::format(R"(<g font-size="{:.1f}" text-anchor="middle" pointer-events="none")", size);
  return open + " fill=\"#ffffff\">\n" + light + "</g>\n" + open + " fill=\"#222222\">\n" + dark +
         "</g>\n";
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

/// A line to where the path goes on in another band.
std::string path_link(const Frame& frame, double x, const PathRun& from, const PathRun& to) {
  const double here = frame.band_y(from.stage, from.work);
  const double there = frame.band_y(to.stage, to.work);
  if (there > here)
    return fmt::format("M{:.1f} {:.1f}V{:.1f}", x, here + frame.band_height(from.work), there);
  return fmt::format("M{:.1f} {:.1f}V{:.1f}", x, here, there + frame.band_height(to.work));
}

/// The critical path: its tasks outlined, and a line wherever it goes on in another band.
std::string path_svg(const Frame& frame, const std::vector<PathRun>& runs) {
  std::string shapes;
  for (const Panel& panel : frame.panels)
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const PathRun& run = runs[i];
      const Seconds from = max(run.from, panel.window.from);
      const Seconds to = min(run.to, panel.window.to);
      if (to <= from) continue;
      const double width = (to - from).value() * frame.scale;
      shapes +=
          fmt::format("M{:.1f} {:.1f}h{:.1f}v{:.1f}h-{:.1f}z", frame.x(panel, from),
                      frame.band_y(run.stage, run.work), width, frame.band_height(run.work), width);
      if (i + 1 < runs.size() && run.to <= panel.window.to)
        shapes += path_link(frame, frame.x(panel, run.to), run, runs[i + 1]);
    }
  return fmt::format(R"(<path d="{}" {}/>)", shapes, path_style) + "\n";
}

std::string ground(const Frame& frame) {
  std::string svg = fmt::format("<g fill=\"{}\">\n", idle_paint);
  for (const Panel& panel : frame.panels)
    for (std::size_t stage = 0; stage < frame.stages; ++stage)
      svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>\n",
                         panel.x, frame.work_y(stage), panel.window.length().value() * frame.scale,
                         frame.work_height());
  return svg + "</g>\n";
}

std::string axis(const Frame& frame) {
  const double y = frame.bottom() + 4.0;
  const Seconds tick = Seconds{round_step(plot_width / frame.scale, 12)};
  std::string svg;
  for (const Panel& panel : frame.panels) {
    const double end = panel.x + panel.window.length().value() * frame.scale;
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#555555\"/>\n",
        panel.x, y, end, y);
    for (double k = std::ceil(panel.window.from / tick - 1e-9); k * tick <= panel.window.to;
         k += 1.0) {
      const double x = frame.x(panel, k * tick);
      svg += fmt::format(
          "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" "
          "stroke=\"#555555\"/>\n",
          x, y, y + 5.0);
      svg += svg_label(x, y + 19.0, "middle", seconds_text(k * tick));
    }
  }
  return svg;
}

/// The cut in the time axis, and what it leaves out.
std::string cut_mark(const Frame& frame, const std::vector<GanttLane>& lanes) {
  if (frame.panels.size() < 2) return "";
  const GanttWindow& before = frame.panels[0].window;
  const GanttWindow& after = frame.panels[1].window;
  const double x = frame.panels[1].x - break_width / 2.0;
  const double y = frame.bottom() + 4.0;
  std::string svg;
  for (const double shift : {-5.0, 1.0})
    svg += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#555555\"/>\n",
        x + shift, y + 6.0, x + shift + 5.0, y - 6.0);
  return svg +
         svg_label(x, y + 40.0, "middle",
                   fmt::format("{} not drawn: {} more forward passes of stage 0 in the same rhythm",
                               seconds_text(after.from - before.to),
                               forward_passes(lanes.front(), {before.to, after.from})));
}

struct LegendEntry {
  std::string name;
  std::string swatch;  ///< attributes of a rectangle
};

std::vector<LegendEntry> legend_entries(const Frame& frame, const std::vector<Box>& boxes) {
  std::set<TaskRole> seen;
  for (const Box& box : boxes) seen.insert(box.span.role);
  std::vector<LegendEntry> entries;
  for (const TaskLook& look : task_looks)
    if (seen.contains(look.role))
      entries.push_back({look.name, fmt::format("fill=\"{}\"", look.paint.light)});
  entries.push_back({"idle", fmt::format("fill=\"{}\"", idle_paint)});
  entries.push_back({"critical path", path_style});
  if (frame.chunks > 1)
    entries.push_back(
        {fmt::format("paler: chunk 1{}", frame.chunks > 2 ? " and later" : ""),
         fmt::format("fill=\"{}\"", paint_of(TaskRole::forward, frame.chunks - 1, frame.chunks))});
  return entries;
}

/// Draws the legend from `legend_top` on; returns the number of its rows.
int add_legend(const std::vector<LegendEntry>& entries, std::string& svg) {
  double x = left;
  int row = 0;
  for (const LegendEntry& entry : entries) {
    const double width = 30.0 + label_width * static_cast<double>(entry.name.size()) + 16.0;
    if (x > left && x + width > left + plot_width) {
      x = left;
      ++row;
    }
    const double y = legend_top + legend_row * row;
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"18\" height=\"12\" {}/>\n", x,
                       y - 10.0, entry.swatch);
    svg += svg_label(x + 25.0, y, "start", entry.name);
    x += width;
  }
  return row + 1;
}

std::string lane_labels(const Frame& frame, const std::vector<GanttLane>& lanes, Seconds makespan) {
  std::string svg =
      svg_label(left + plot_width + 12.0, frame.top - 8.0, "start", "busy", " fill=\"#666666\"");
  for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
    const double y = frame.work_y(stage) + frame.work_height() / 2.0 + 4.0;
    svg += svg_label(left - 10.0, y, "end", fmt::format("stage {}", stage));
    svg += svg_label(left + plot_width + 12.0, y, "start",
                     fixed_text(100.0 * (lanes[stage].busy() / makespan), 0) + " %");
  }
  return svg;
}

}  // namespace

std::string gantt_svg(const TaskGraph& graph, const Timeline& timeline, const GanttTitle& title) {
  FORETRAIN_REQUIRE(!graph.tasks.empty() && timeline.makespan > Seconds{});
  const std::vector<GanttLane> lanes = gantt_lanes(graph, timeline);
  Frame frame = gantt::frame_of(lanes, timeline.makespan);
  std::string legend;
  const auto rows = add_legend(legend_entries(frame, boxes_of(frame, lanes)), legend);
  frame.top = legend_top + legend_row * rows + 12.0;
  const std::vector<Box> boxes = boxes_of(frame, lanes);

  std::string svg = svg_start(left + plot_width + right, frame.bottom() + below);
  svg +=
      svg_label(left, 34.0, "start", cut(title.name, 110), R"( font-size="18" font-weight="bold")");
  svg += svg_label(left, 59.0, "start", cut(title.details, 200), R"( font-size="13")");
  svg += legend + ground(frame) + painted(frame, boxes) + numbers(frame, boxes);
  svg += path_svg(frame, path_runs(graph, timeline));
  svg += lane_labels(frame, lanes, timeline.makespan) + axis(frame) + cut_mark(frame, lanes);
  return svg + "</svg>\n";
}

}  // namespace foretrain
