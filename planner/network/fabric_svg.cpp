// SPDX-License-Identifier: Apache-2.0
#include "planner/network/fabric_svg.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/network/fabric_picture.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double left = 120.0;
constexpr double right = 30.0;
constexpr double top = 104.0;
constexpr double plot_width = 1160.0;
constexpr double row_height = 150.0;
constexpr double box_height = 34.0;
constexpr double domain_gap = 30.0;  ///< between hosts and the NVSwitch of their domain
constexpr double frame_room = 10.0;  ///< between a domain's frame and what is inside
constexpr int most_boxes = 32;       ///< in a row; more nodes share boxes

/// One tier of the picture.
struct Row {
  FabricTier tier;
  const char* paint = "";
  double y = 0.0;

  std::vector<FabricDomain> domains;  ///< of this row, else empty
  int host_boxes = 0;

  [[nodiscard]] double slot() const { return plot_width / tier.boxes; }
  [[nodiscard]] double box_width() const { return std::min(110.0, slot() * 0.84); }
  /// DejaVu Sans at 11 pixels takes 7.1 per digit, generously; a box of 30 holds four.
  [[nodiscard]] bool ranges_fit() const {
    const auto digits = static_cast<double>(std::to_string(tier.count - 1).size());
    return tier.per_box == 1 || 7.1 * (2.0 * digits + 1.0) < box_width();
  }
  [[nodiscard]] double centre(int box) const { return left + slot() * (box + 0.5); }
  /// Of the NVSwitch of a domain: as wide as its hosts and what is between them.
  [[nodiscard]] std::pair<double, double> span(int box) const {
    const double host_slot = plot_width / host_boxes;
    const double half = std::min(110.0, host_slot * 0.84) / 2.0;
    const FabricDomain& domain = domains[static_cast<std::size_t>(box)];
    return {left + host_slot * (domain.first_box + 0.5) - half,
            left + host_slot * (domain.last_box + 0.5) + half};
  }
};

const char* paint_of(NodeKind kind) {
  switch (kind) {
    case NodeKind::core:
      return "#d9c7e8";
    case NodeKind::spine:
      return "#c5d8f0";
    case NodeKind::leaf:
      return "#c9e6d1";
    case NodeKind::host_switch:
      return "#d5e8a8";
    default:
      return "#f3e3c3";
  }
}

std::vector<Row> rows_of(const FabricPicture& picture) {
  std::vector<Row> rows;
  double y = top;
  for (const FabricTier& tier : picture.tiers) {
    if (tier.kind == NodeKind::host_switch) y = rows.back().y + box_height + domain_gap;
    Row row{tier, paint_of(tier.kind), y, {}, 0};
    if (tier.kind == NodeKind::host_switch) {
      row.domains = picture.domains;
      row.host_boxes = rows.back().tier.boxes;
    }
    rows.push_back(std::move(row));
    y += row_height;
  }
  return rows;
}

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

double most_used(const FabricPicture& picture) {
  double most = 0.0;
  for (const FabricLine& line : picture.lines) most = std::max(most, line.use);
  return most;
}

struct Stroke {
  std::string paint;
  double width = 0.0;
  double opacity = 0.0;
};

/// Within a row the widest line is three pixels; many lines are pale, so that they stay apart.
/// @param top_use the highest use of any; 0 where none is known
Stroke stroke_of(const FabricLine& line, int most_cables, int lines_in_row, double top_use) {
  if (line.down > 0) return {"#c00000", 1.3, 0.9};
  const double width = 0.6 + 2.4 * line.cables / most_cables;
  const double pale = std::clamp(60.0 / lines_in_row, 0.1, 0.45);
  if (top_use <= 0.0) return {"#46688f", width, pale};
  const double share = line.use / top_use;
  return {heat(share), width, pale + 0.5 * share};
}

std::string lines(const FabricReport& report, const FabricPicture& picture,
                  const std::vector<Row>& rows) {
  const bool played = !report.use.empty();
  const double top_use = played ? std::max(most_used(picture), 1e-300) : 0.0;
  std::vector<int> most(rows.size());
  std::vector<int> drawn(rows.size());
  for (const FabricLine& line : picture.lines) {
    most[line.above.tier] = std::max(most[line.above.tier], line.cables);
    ++drawn[line.above.tier];
  }
  std::string healthy;
  std::string hurt;
  for (const FabricLine& line : picture.lines) {
    const FabricPlace above = line.above;
    const FabricPlace below = line.below;
    const bool whole = line.down == 0;
    const Stroke stroke = stroke_of(line, most[above.tier], drawn[above.tier], top_use);
    const double from = rows[above.tier].centre(above.box);
    const bool scale_up = !rows[below.tier].domains.empty();
    const std::string note = played ? ", the busiest at " + percent_text(line.use) : "";
    (whole ? healthy : hurt) += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\" "
        "stroke-width=\"{:.2f}\" stroke-opacity=\"{:.2f}\"><title>{} cables{}{}</title></line>\n",
        from, rows[above.tier].y + box_height, scale_up ? from : rows[below.tier].centre(below.box),
        rows[below.tier].y, stroke.paint, stroke.width, stroke.opacity, line.cables,
        whole ? "" : fmt::format(", {} down", line.down), note);
  }
  return healthy + hurt;
}

/// Round the hosts of a domain and their NVSwitch.
std::string frames(const std::vector<Row>& rows) {
  std::string svg;
  const Row& row = rows.back();
  const double top_edge = rows[rows.size() - 2].y - frame_room;
  for (std::size_t i = 0; i < row.domains.size(); ++i) {
    const auto [from, to] = row.span(static_cast<int>(i));
    const double room = std::min(frame_room, 0.04 * plot_width / row.host_boxes);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"6\" "
        "fill=\"#f2f7e4\" stroke=\"#7a9a3a\" stroke-width=\"1.2\"/>\n",
        from - room, top_edge, to - from + 2.0 * room, row.y + box_height + frame_room - top_edge);
  }
  return svg;
}

/// The NVSwitches of domains.
std::string domain_boxes(const FabricPicture& picture, const Row& row) {
  const std::vector<std::string> texts =
      domain_texts(picture, [&row](const std::string& text, int number) {
        const auto [from, to] = row.span(number);
        return 7.1 * static_cast<double>(text.size()) < to - from;
      });
  std::string svg;
  for (int number = 0; number < row.tier.boxes; ++number) {
    const auto [from, to] = row.span(number);
    const auto at = static_cast<std::size_t>(number);
    const bool lost = picture.cut_off.back()[at] > 0;
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"{}\" stroke-width=\"{}\"><title>{}{}</title></rect>\n",
        from, row.y, to - from, box_height, lost ? "#f6b8b8" : row.paint,
        lost ? "#c00000" : "#555555", lost ? 2 : 1, domain_labels(picture, number).front(),
        lost ? ", NVSwitch down" : "");
    svg += svg_label((from + to) / 2.0, row.y + box_height / 2.0 + 4.0, "middle", texts[at],
                     " font-size=\"11\"");
  }
  return svg;
}

std::string box(const Row& row, int number, int lost) {
  const int first = row.tier.first_of(number);
  const int last = row.tier.last_of(number);
  const std::string range =
      first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
  const double x = row.centre(number) - row.box_width() / 2.0;
  std::string svg = fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" rx=\"4\" fill=\"{}\" "
      "stroke=\"{}\" stroke-width=\"{}\"><title>{} {}{}</title></rect>\n",
      x, row.y, row.box_width(), box_height, lost > last - first ? "#f6b8b8" : row.paint,
      lost > 0 ? "#c00000" : "#555555", lost > 0 ? 2 : 1, row.tier.word, range,
      lost > 0 ? fmt::format(", {} cut off", lost) : "");
  return svg + svg_label(row.centre(number), row.y + box_height / 2.0 + 4.0, "middle",
                         row.ranges_fit() ? range : std::to_string(first), " font-size=\"11\"");
}

/// The margin has no room for "NVLink".
std::string tier_word(const FabricTier& tier) {
  if (tier.kind == NodeKind::host_switch) return tier.count == 1 ? "domain" : "domains";
  return tier.count == 1 ? tier.word : tier.words;
}

std::string row_labels(const Fabric& fabric, const Row& row) {
  const double y = row.y + box_height / 2.0;
  std::string svg =
      svg_label(left - 16.0, y, "end", with_thousands(row.tier.count) + " " + tier_word(row.tier),
                " font-weight=\"bold\"");
  std::vector<std::string> notes;
  if (row.tier.first == 0) notes.push_back(fmt::format("{} GPUs each", fabric.spec.host.gpus));
  if (!row.domains.empty()) {
    notes.emplace_back("over NVSwitch,");
    notes.push_back(significant_text(fabric.spec.host.gpu_link.in(GBps)) + " GB/s per GPU");
    if (row.tier.per_box > 1) notes.push_back(fmt::format("{} per box", row.tier.per_box));
  } else if (row.tier.per_box > 1)
    notes.push_back(fmt::format("{} per box{}", row.tier.per_box, row.ranges_fit() ? "" : ","));
  if (row.domains.empty() && !row.ranges_fit()) notes.emplace_back("from the number");
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

std::string verdict(const FabricReport& report, const FabricPicture& picture) {
  if (!report.caption.empty()) return report.caption;
  if (!report.use.empty())
    return "a line is its busiest cable, by use over one step: from blue, idle, to red, " +
           percent_text(most_used(picture)) + " of the cable's rate";
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

std::vector<double> line_uses(const Fabric& fabric, const std::vector<double>& use) {
  const LinkSet none(use.size());
  std::vector<double> uses;
  for (const FabricLine& line : fabric_picture(fabric, none, use, most_boxes).lines)
    uses.push_back(line.use);
  return uses;
}

std::string fabric_svg(const FabricReport& report) {
  const FabricPicture picture = fabric_picture(report.fabric, report.down, report.use, most_boxes);
  const std::vector<Row> rows = rows_of(picture);
  const double width = left + plot_width + right;
  const double height = rows.back().y + box_height + 46.0;
  const int columns = static_cast<int>((width - 48.0) / 10.5);
  std::string svg = svg_start(width, height);
  svg += svg_label(24.0, 32.0, "start", cut(report.name, columns),
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(24.0, 54.0, "start", subtitle(report), " font-size=\"13\"");
  svg +=
      svg_label(24.0, 74.0, "start", verdict(report, picture),
                report.disconnected ? " font-size=\"13\" fill=\"#c00000\"" : " font-size=\"13\"");
  if (!picture.domains.empty()) svg += frames(rows);
  svg += lines(report, picture, rows);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool domains = !rows[r].domains.empty();
    if (domains) svg += domain_boxes(picture, rows[r]);
    for (int i = 0; !domains && i < rows[r].tier.boxes; ++i)
      svg += box(rows[r], i, picture.cut_off[r][static_cast<std::size_t>(i)]);
    svg += row_labels(report.fabric, rows[r]);
  }
  return svg + "</svg>\n";
}

}  // namespace foretrain
