// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include "models/base/require.hpp"
#include "planner/step/gantt.hpp"
#include "planner/step/internal/gantt_view.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 6;  // "  12 "
constexpr int busy_columns = 7;   // " 100 %"
constexpr int gap_columns = 3;    // between the windows of a step that is not drawn whole
constexpr int cells_per_pass = 2;

/// Which columns show which stretch of time.
struct TextPanel {
  GanttWindow window;
  int cells = 0;
};

std::vector<TextPanel> panels_of(const std::vector<GanttLane>& lanes, Seconds makespan,
                                 int columns) {
  const auto windows =
      gantt_windows(lanes, makespan, static_cast<double>(columns) / cells_per_pass);
  if (windows.size() == 1) return {{windows.front(), columns}};
  const int room = columns - gap_columns;
  const Seconds both = windows[0].length() + windows[1].length();
  const int first =
      std::clamp(static_cast<int>(std::lround(windows[0].length() / both * room)), 1, room - 1);
  return {{windows[0], first}, {windows[1], room - first}};
}

std::string letters(const GanttCell& cell, int count, const TextStyle& style) {
  std::string text(static_cast<std::size_t>(count), style.color ? ' ' : '.');
  if (!cell.role) return text;
  const TaskLook& look = look_of(*cell.role);
  char letter = look.letter;
  if (cell.micro > 0 && cell.micro % 2 != 0) letter = static_cast<char>(std::tolower(letter));
  text.assign(static_cast<std::size_t>(count), letter);
  return style.color ? fmt::format("\x1b[48;5;{}m\x1b[38;5;{}m{}\x1b[0m", look.paint.terminal,
                                   look.role == TaskRole::optimizer ? "255" : "16", text)
                     : text;
}

std::string painted_cells(const std::vector<GanttCell>& cells, const TextStyle& style) {
  std::string result;
  for (std::size_t at = 0; at < cells.size();) {
    std::size_t end = at;
    while (end < cells.size() && cells[end] == cells[at]) ++end;
    result += letters(cells[at], static_cast<int>(end - at), style);
    at = end;
  }
  return result;
}

/// Times below a panel, each starting under its column, as many as there is room for.
std::string axis_text(const TextPanel& panel) {
  std::string line(static_cast<std::size_t>(panel.cells), ' ');
  const Seconds tick =
      Seconds{round_step(panel.window.length().value(), std::max(1, panel.cells / 14))};
  std::size_t free_from = 0;
  for (double k = std::ceil(panel.window.from / tick - 1e-9); k * tick <= panel.window.to;
       k += 1.0) {
    const double share = (k * tick - panel.window.from) / panel.window.length();
    const auto at = static_cast<std::size_t>(std::lround(share * panel.cells));
    const std::string text = "|" + seconds_text(k * tick);
    if (at < free_from || at + text.size() > line.size()) continue;
    line.replace(at, text.size(), text);
    free_from = at + text.size() + 1;
  }
  return line;
}

std::string legend(const std::set<TaskRole>& seen, bool idle, const TextStyle& style) {
  std::string text;
  for (const TaskLook& look : task_looks) {
    if (!seen.contains(look.role)) continue;
    // A blank inside an entry must not become a line break.
    std::string name = look.name;
    std::replace(name.begin(), name.end(), ' ', '-');
    text += (text.empty() ? "" : " ") + letters({look.role, 0, 0}, 1, style) + "=" + name;
  }
  if (idle) text += style.color ? " blank=idle" : " .=idle";
  text += "; every second micro-batch in lower case";
  return hanging("  ", text, style);
}

/// What lies between two windows, in words.
std::string gap_text(const std::vector<GanttLane>& lanes, const std::vector<TextPanel>& panels,
                     const TextStyle& style) {
  if (panels.size() < 2) return "";
  const Seconds from = panels[0].window.to;
  const Seconds to = panels[1].window.from;
  return hanging(
      "  ",
      fmt::format("~ stands for {} in between, where stage 0 runs {} more forward passes "
                  "in the same rhythm.",
                  seconds_text(to - from), forward_passes(lanes.front(), {from, to})),
      style);
}

}  // namespace

std::string gantt_text(const TaskGraph& graph, const Timeline& timeline, const TextStyle& style) {
  FORETRAIN_REQUIRE(!graph.tasks.empty() && graph.ranks >= 1);
  const std::vector<GanttLane> lanes = gantt_lanes(graph, timeline);
  const int columns = style.width - label_columns - 2 - busy_columns;
  const auto panels = panels_of(lanes, timeline.makespan, columns);
  const std::string gap = " ~ ";
  std::string result = pad_left("busy", style.width - 1) + "\n";
  std::set<TaskRole> seen;
  bool idle = false;
  for (std::size_t stage = 0; stage < lanes.size(); ++stage) {
    std::string line = pad_left(std::to_string(stage), label_columns - 1) + " |";
    for (std::size_t p = 0; p < panels.size(); ++p) {
      const auto cells = gantt_cells(lanes[stage], panels[p].window, panels[p].cells);
      for (const GanttCell& cell : cells) {
        if (cell.role)
          seen.insert(*cell.role);
        else
          idle = true;
      }
      line += (p > 0 ? gap : "") + painted_cells(cells, style);
    }
    const double busy = lanes[stage].busy() / timeline.makespan;
    result += line + "|" + pad_left(fixed_text(busy * 100.0, 0) + " %", busy_columns - 1) + "\n";
  }
  std::string axis(label_columns + 1, ' ');
  for (std::size_t p = 0; p < panels.size(); ++p)
    axis += (p > 0 ? std::string(gap_columns, ' ') : "") + axis_text(panels[p]);
  result += axis.substr(0, axis.find_last_not_of(' ') + 1) + "\n";
  return result + legend(seen, idle, style) + gap_text(lanes, panels, style);
}

}  // namespace foretrain
