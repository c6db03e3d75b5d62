// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "planner/evidence/accuracy.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double rows_left = 360.0;
constexpr double rows_top = 108.0;
constexpr double rows_width = 560.0;
constexpr double row_height = 26.0;
constexpr double axis_gap = 14.0;
constexpr double title_height = 16.0;
constexpr double widest = 0.20;  // a share: where the scale ends
constexpr double rows_right = 60.0;

/// What a left-out figure is to be at most.
struct Goal {
  FoldAxis axis;
  const char* group;
  double mape;
};
constexpr std::array<Goal, 3> goals{{{FoldAxis::source, dense_half_group, 0.06},
                                     {FoldAxis::device, dense_half_group, 0.08},
                                     {FoldAxis::scale, dense_half_group, 0.07}}};

double error_place(double share) {
  return rows_left + rows_width * std::min(share, widest) / widest;
}

/// The total of an axis and group; where one fold dominates it, without that one.
const LeftOutError* total_of(const std::vector<LeftOutError>& lines, FoldAxis axis,
                             const std::string& group) {
  const LeftOutError* found = nullptr;
  for (const LeftOutError& line : lines)
    if (line.axis == axis && line.group == group && line.total() &&
        (found == nullptr || !line.without.empty()))
      found = &line;
  return found;
}

/// A fold: the more runs, the larger. Beyond the scale it stands at its end.
std::string fold_mark(const LeftOutError& line, double y) {
  constexpr double least = 1.6;
  const double radius = least + 0.5 * std::sqrt(std::min(line.runs, 150));
  return fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\" "
      "fill-opacity=\"0.28\"><title>{}</title></circle>\n",
      error_place(line.mape), y, radius,
      xml_text(fmt::format("{}: {:.1f} % of {} runs", left_out_label(line), 100.0 * line.mape,
                           line.runs)));
}

std::string row_svg(const std::vector<LeftOutError>& lines, const LeftOutError& total, double y) {
  const GroupLook& look = look_of_group(total.group);
  std::string svg =
      svg_label(rows_left - 14.0, y + 4.0, "end",
                fmt::format("{}, {} runs", left_out_label(total), with_thousands(total.runs)));
  svg += fmt::format("<g fill=\"{}\">\n", look.paint);
  for (const LeftOutError& line : lines)
    if (line.axis == total.axis && line.group == total.group && !line.total())
      svg += fold_mark(line, y);
  svg += mark_svg(look.shape, error_place(total.mape), y, 13.0,
                  fmt::format("{}: {:.1f} %", left_out_label(total), 100.0 * total.mape));
  svg += "</g>\n";
  svg += fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"#ffffff\" stroke=\"#222222\"/>\n",
      error_place(total.mape_fitted), y);
  for (const Goal& goal : goals)
    if (goal.axis == total.axis && total.group == goal.group)
      svg += line_svg(error_place(goal.mape), y - 11.0, error_place(goal.mape), y + 11.0,
                      "stroke=\"#c00000\" stroke-width=\"3\"");
  return svg + svg_label(rows_left + rows_width + rows_right - 4.0, y + 4.0, "end",
                         fixed_text(100.0 * total.mape, 1), " font-weight=\"bold\"");
}

std::string legend_svg() {
  const double y = 66.0;
  std::string svg;
  svg += "<g fill=\"#555555\">" + mark_svg(MarkShape::circle, rows_left + 6.0, y, 13.0) + "</g>\n";
  svg += svg_label(rows_left + 20.0, y + 4.0, "start", "left out, all folds");
  svg += fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"#555555\" fill-opacity=\"0.28\"/>\n",
      rows_left + 158.0, y);
  svg += svg_label(rows_left + 170.0, y + 4.0, "start", "one fold, by its runs");
  svg += fmt::format(
      "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"#ffffff\" stroke=\"#222222\"/>\n",
      rows_left + 318.0, y);
  svg += svg_label(rows_left + 330.0, y + 4.0, "start", "fitted on");
  svg += line_svg(rows_left + 412.0, y - 9.0, rows_left + 412.0, y + 9.0,
                  "stroke=\"#c00000\" stroke-width=\"3\"");
  return svg + svg_label(rows_left + 420.0, y + 4.0, "start", "goal");
}

std::string scale_svg(double bottom) {
  std::string svg;
  for (int percent = 0; percent <= 20; percent += 5) {
    const double x = error_place(0.01 * percent);
    svg += line_svg(x, rows_top - 10.0, x, bottom, "stroke=\"#d4d4d4\"");
    svg += svg_label(x, bottom + 18.0, "middle",
                     std::to_string(percent) + (percent == 20 ? " and more" : ""));
  }
  return svg + svg_label(rows_left + 0.5 * rows_width, bottom + 40.0, "middle",
                         "mean absolute error of step time, percent", " font-size=\"13\"");
}

}  // namespace

const char* unseen_name(FoldAxis axis) {
  switch (axis) {
    case FoldAxis::source:
      return "another source";
    case FoldAxis::device:
      return "a stack on another chip";
    case FoldAxis::scale:
      return "512 GPUs and more";
    case FoldAxis::size:
      return "above 20 B parameters";
    case FoldAxis::tensor:
      return "8 tensor ranks and more";
    case FoldAxis::release:
      return "software of a later year";
    case FoldAxis::device_scale:
      return "another chip and larger scale";
    case FoldAxis::schedule:
      break;
  }
  return "another schedule";
}

std::string accuracy_svg(const std::vector<LeftOutError>& lines) {
  std::string rows;
  double y = rows_top;
  for (const auto& [axis, name] : EnumNames<FoldAxis>::names) {
    const double title = y - 4.0;
    y += title_height;
    const double first = y;
    for (const GroupLook& look : group_looks) {
      const LeftOutError* const total =
          *look.group == '\0' ? nullptr : total_of(lines, axis, look.group);
      if (total == nullptr) continue;
      rows += row_svg(lines, *total, y);
      y += row_height;
    }
    if (y == first) {
      y -= title_height;
      continue;
    }
    rows += svg_label(14.0, title, "start", unseen_name(axis), " font-weight=\"bold\"");
    y += axis_gap;
  }
  const double bottom = y - axis_gap;
  std::string svg = svg_start(rows_left + rows_width + rows_right, bottom + 56.0);
  svg += svg_label(14.0, 28.0, "start", "Error of runs that the fit has not read",
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(14.0, 50.0, "start",
                   "each row: profiles fitted without the runs of a fold forecast those",
                   " font-size=\"13\"");
  return svg + legend_svg() + scale_svg(bottom) + rows + "</svg>\n";
}

}  // namespace foretrain
