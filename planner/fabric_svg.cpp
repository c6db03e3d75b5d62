// SPDX-License-Identifier: Apache-2.0
#include "planner/fabric_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "planner/format.hpp"
#include "planner/internal/fabric_cables.hpp"
#include "planner/svg_text.hpp"
#include "planner/text_layout.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double left = 120.0;
constexpr double right = 30.0;
constexpr double top = 104.0;
constexpr double plot_width = 1160.0;
constexpr double row_height = 150.0;
constexpr double box_height = 34.0;
constexpr int most_boxes = 32;  ///< in a row; more nodes share boxes

/// One tier of the picture.
struct Row {
  const char* word = "";
  const char* words = "";
  const char* paint = "";
  int first = 0;  ///< drawn node
  int count = 0;
  double y = 0.0;

  [[nodiscard]] int per_box() const { return (count + most_boxes - 1) / most_boxes; }
  [[nodiscard]] int boxes() const { return (count + per_box() - 1) / per_box(); }
  [[nodiscard]] double slot() const { return plot_width / boxes(); }
  [[nodiscard]] double box_width() const { return std::min(110.0, slot() * 0.84); }
  /// DejaVu Sans at 11 pixels takes 7.1 per digit, generously; a box of 30 holds four.
  [[nodiscard]] bool ranges_fit() const {
    const auto digits = static_cast<double>(std::to_string(count - 1).size());
    return per_box() == 1 || 7.1 * (2.0 * digits + 1.0) < box_width();
  }
  [[nodiscard]] double centre(int box) const { return left + slot() * (box + 0.5); }
};

std::vector<Row> rows_of(const Fabric& fabric) {
  const int leaves = fabric.count(NodeKind::leaf);
  const int spines = fabric.count(NodeKind::spine);
  std::vector<Row> rows{{"core", "cores", "#d9c7e8", fabric.spec.hosts + leaves + spines,
                         fabric.count(NodeKind::core), 0.0},
                        {"spine", "spines", "#c5d8f0", fabric.spec.hosts + leaves, spines, 0.0},
                        {"leaf", "leaves", "#c9e6d1", fabric.spec.hosts, leaves, 0.0},
                        {"host", "hosts", "#f3e3c3", 0, fabric.spec.hosts, 0.0}};
  std::erase_if(rows, [](const Row& row) { return row.count == 0; });
  double y = top;
  for (Row& row : rows) {
    row.y = y;
    y += row_height;
  }
  return rows;
}

/// Where a drawn node went.
struct Place {
  std::size_t row = 0;
  int box = 0;
  bool operator<(const Place& other) const {
    return std::pair{row, box} < std::pair{other.row, other.box};
  }
};

Place place_of(const std::vector<Row>& rows, int drawn) {
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (rows[r].first <= drawn && drawn < rows[r].first + rows[r].count)
      return {r, (drawn - rows[r].first) / rows[r].per_box()};
  return {};
}

struct Line {
  int cables = 0;
  int down = 0;
  double use = 0.0;
};

/// From idle blue over yellow to red at the busiest of all, in equal steps of use.
std::string heat(double share) {
  const auto mix = [](double from, double to, double at) { return from + (to - from) * at; };
  const double low = std::min(1.0, 2.0 * share);
  const double high = std::max(0.0, 2.0 * share - 1.0);
  const double red = mix(mix(0x9c, 0xf2, low), 0xc8, high);
  const double green = mix(mix(0xb8, 0xb7, low), 0x10, high);
  const double blue = mix(mix(0xd6, 0x05, low), 0x10, high);
  return fmt::format("#{:02x}{:02x}{:02x}", std::lround(red), std::lround(green),
                     std::lround(blue));
}

double most_used(const FabricReport& report) {
  double most = 0.0;
  for (LinkId link = report.fabric.first_nic_link; link < report.fabric.links(); ++link)
    most = std::max(most, report.use[static_cast<std::size_t>(link)]);
  return most;
}

std::string lines(const FabricReport& report, const std::vector<Row>& rows) {
  std::map<std::pair<Place, Place>, Line> joined;
  const bool played = !report.use.empty();
  const double top_use = played ? std::max(most_used(report), 1e-300) : 1.0;
  for (const Bundle& bundle : bundles(report.fabric, report.down, report.use)) {
    Line& line = joined[{place_of(rows, bundle.above), place_of(rows, bundle.below)}];
    line.cables += bundle.cables;
    line.down += bundle.down;
    line.use = std::max(line.use, bundle.use);
  }
  // Within a row the widest line is three pixels; many lines are pale, so that they stay apart.
  std::array<int, 4> most{};
  std::array<int, 4> drawn{};
  for (const auto& [ends, line] : joined) {
    most[ends.first.row] = std::max(most[ends.first.row], line.cables);
    ++drawn[ends.first.row];
  }
  std::string healthy;
  std::string hurt;
  for (const auto& [ends, line] : joined) {
    const auto& [above, below] = ends;
    const bool whole = line.down == 0;
    const double width = whole ? 0.6 + 2.4 * line.cables / most[above.row] : 1.3;
    const double share = line.use / top_use;
    const double opacity = !whole   ? 0.9
                           : played ? std::clamp(60.0 / drawn[above.row], 0.1, 0.45) + 0.5 * share
                                    : std::clamp(60.0 / drawn[above.row], 0.1, 0.45);
    const std::string paint = !whole ? "#c00000" : played ? heat(share) : "#46688f";
    const std::string note = played ? ", the busiest at " + percent_text(line.use) : "";
    (whole ? healthy : hurt) += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.2f}\" stroke-opacity=\"{:.2f}\"><title>{} cables{}{}</title></line>\n",
        rows[above.row].centre(above.box), rows[above.row].y + box_height,
        rows[below.row].centre(below.box), rows[below.row].y, paint, width, opacity, line.cables,
        whole ? "" : fmt::format(", {} down", line.down), note);
  }
  return healthy + hurt;
}

/// Nodes of every box that lost all their cables.
std::vector<std::vector<int>> cut_off(const FabricReport& report, const std::vector<Row>& rows) {
  std::map<int, Line> at;
  for (const Bundle& bundle : bundles(report.fabric, report.down))
    for (const int node : {bundle.below, bundle.above}) {
      at[node].cables += bundle.cables;
      at[node].down += bundle.down;
    }
  std::vector<std::vector<int>> lost;
  for (const Row& row : rows) lost.emplace_back(static_cast<std::size_t>(row.boxes()), 0);
  for (const auto& [node, line] : at) {
    const Place place = place_of(rows, node);
    if (line.down == line.cables) ++lost[place.row][static_cast<std::size_t>(place.box)];
  }
  return lost;
}

std::string box(const Row& row, int number, int lost) {
  const int first = number * row.per_box();
  const int last = std::min(row.count, first + row.per_box()) - 1;
  const std::string range =
      first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  const double x = row.centre(number) - row.box_width() / 2.0;
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"{}\" "
      "stroke=\"{}\" stroke-width=\"{}\"><title>{} {}{}</title></rect>\n",
      x, row.y, row.box_width(), box_height, lost > last - first ? "#f6b8b8" : row.paint,
      lost > 0 ? "#c00000" : "#555555", lost > 0 ? 2 : 1, row.word, range,
      lost > 0 ? fmt::format(", {} cut off", lost) : "");
  return svg + svg_label(row.centre(number), row.y + box_height / 2.0 + 4.0, "middle",
                         row.ranges_fit() ? range : std::to_string(first), " font-size=\"11\"");
}

std::string row_labels(const Fabric& fabric, const Row& row) {
  const double y = row.y + box_height / 2.0;
  std::string svg =
      svg_label(left - 16.0, y, "end",
                with_thousands(row.count) + " " + (row.count == 1 ? row.word : row.words),
                " font-weight=\"bold\"");
  std::vector<std::string> notes;
  if (row.first == 0) notes.push_back(fmt::format("{} GPUs each", fabric.spec.host.gpus));
  if (row.per_box() > 1)
    notes.push_back(fmt::format("{} per box{}", row.per_box(), row.ranges_fit() ? "" : ","));
  if (!row.ranges_fit()) notes.emplace_back("from the number");
  for (std::size_t i = 0; i < notes.size(); ++i)
    svg += svg_label(left - 16.0, y + 16.0 + 15.0 * static_cast<double>(i), "end", notes[i],
                     " fill=\"#666666\" font-size=\"11\"");
  return svg;
}

std::string subtitle(const FabricReport& report) {
  const Fabric& fabric = report.fabric;
  return fmt::format("{}, {}, {}-port switches: {} GPUs on {} {}", report.title,
                     name_of(report.kind), report.switch_radix, with_thousands(fabric.gpus()),
                     with_thousands(fabric.spec.hosts), fabric.spec.hosts == 1 ? "host" : "hosts");
}

std::string verdict(const FabricReport& report) {
  if (!report.use.empty())
    return "lines by use over one step: blue idle, red " + percent_text(most_used(report)) +
           " of a cable's rate, the busiest";
  if (report.disconnected) return report.disconnected->message;
  if (!report.bisection) return "one host";
  return fmt::format("bisection {} TB/s, {} disjoint ways between hosts, {}",
                     significant_text(report.bisection->in(TBps)), report.disjoint_paths,
                     report.single_points.empty()
                         ? "no single point of failure"
                         : fmt::format("{} single point{} of failure", report.single_points.size(),
                                       report.single_points.size() == 1 ? "" : "s"));
}

}  // namespace

std::string fabric_svg(const FabricReport& report) {
  const std::vector<Row> rows = rows_of(report.fabric);
  const double width = left + plot_width + right;
  const double height = rows.back().y + box_height + 46.0;
  const int columns = static_cast<int>((width - 48.0) / 10.5);
  std::string svg = svg_start(width, height);
  svg += svg_label(24.0, 32.0, "start", cut(report.name, columns),
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(24.0, 54.0, "start", subtitle(report), " font-size=\"13\"");
  svg +=
      svg_label(24.0, 74.0, "start", verdict(report),
                report.disconnected ? " font-size=\"13\" fill=\"#c00000\"" : " font-size=\"13\"");
  svg += lines(report, rows);
  const auto lost = cut_off(report, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (int i = 0; i < rows[r].boxes(); ++i)
      svg += box(rows[r], i, lost[r][static_cast<std::size_t>(i)]);
    svg += row_labels(report.fabric, rows[r]);
  }
  return svg + "</svg>\n";
}

}  // namespace foretrain
