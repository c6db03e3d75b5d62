// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/validate_pictures.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/text_layout.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double strips_left = 190.0;
constexpr double strips_top = 132.0;
constexpr double plot_width = 700.0;
constexpr double strip = 24.0;    ///< distance of two strips
constexpr double half_box = 8.5;  ///< half the height of a box
constexpr double half_fan = 7.0;  ///< marks of a strip lie this far apart at most
constexpr double table_width = 264.0;
constexpr double strips_below = 46.0;
constexpr double strips_mark_size = 3.8;
constexpr double strips_large_mark = 5.6;  ///< where there are few
constexpr std::size_t few_strips = 20;

constexpr double reach = 0.4;    ///< error at the ends of the axis
constexpr double notable = 0.1;  ///< a median further off is set in bold
constexpr std::size_t least_of_box = 3;

/// The records of one source and group.
struct Strip {
  std::string label;
  const GroupLook* look;
  std::vector<const RecordCheck*> checks;
  std::vector<double> errors;  ///< ascending

  [[nodiscard]] double at_share(double q) const {
    return errors[static_cast<std::size_t>(
        std::lround(q * static_cast<double>(errors.size() - 1)))];
  }
};

/// Group by group, sources in order of first appearance.
std::vector<Strip> strips_of(const Validation& validation) {
  const auto checks = compared_steps(validation);
  std::vector<Strip> strips;
  for (const GroupLook& look : group_looks)
    for (const RecordCheck* check : checks) {
      if (&look_of_group(check->group) != &look) continue;
      const std::string label = source_label(check->source, check->group);
      auto found = std::find_if(strips.begin(), strips.end(),
                                [&](const Strip& one) { return one.label == label; });
      if (found == strips.end()) found = strips.insert(strips.end(), {label, &look, {}, {}});
      found->checks.push_back(check);
      found->errors.push_back(check->error());
    }
  for (Strip& one : strips) std::sort(one.errors.begin(), one.errors.end());
  return strips;
}

double x_of(double error) {
  return strips_left + plot_width * (std::clamp(error, -reach, reach) / reach + 1.0) / 2.0;
}

double y_of(std::size_t row) { return strips_top + strip * (static_cast<double>(row) + 0.5); }

std::string shade(double error, double bottom, const char* paint) {
  return fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
      x_of(-error), strips_top, x_of(error) - x_of(-error), bottom - strips_top, paint);
}

std::string ground(std::size_t rows) {
  const double bottom = strips_top + strip * static_cast<double>(rows);
  std::string svg = shade(0.10, bottom, "#f3f3f3") + shade(0.05, bottom, "#e6e6e6");
  for (int percent = -40; percent <= 40; percent += 10) {
    const double x = x_of(percent / 100.0);
    svg += line_svg(x, strips_top, x, bottom,
                    percent == 0 ? "stroke=\"#555555\"" : "stroke=\"#d4d4d4\"");
    const std::string text = (percent > 0 ? "+" : "") + std::to_string(percent) + " %";
    svg += svg_label(x, strips_top - 8.0, "middle", text);
    svg += svg_label(x, bottom + 18.0, "middle", text);
  }
  return svg + svg_label(strips_left + plot_width / 2.0, bottom + 38.0, "middle",
                         "predicted / measured - 1: right of zero the forecast is too slow",
                         " font-size=\"13\"");
}

/// A mark per record. They are spread over the height of the strip by the golden ratio, which
/// keeps neighbours in the file apart.
std::string marks(const Strip& one, double y) {
  std::string svg;
  const double size = one.checks.size() < few_strips ? strips_large_mark : strips_mark_size;
  double fan = 0.5;
  for (const RecordCheck* check : one.checks) {
    const double error = check->error();
    const double at = one.checks.size() == 1 ? y : y + half_fan * (2.0 * fan - 1.0);
    fan = std::fmod(fan + 0.6180339887498949, 1.0);
    if (std::abs(error) <= reach) {
      svg += mark_svg(one.look->shape, x_of(error), at, size, mark_tip(*check));
      continue;
    }
    const double away = error > 0.0 ? 9.0 : -9.0;
    svg +=
        fmt::format("<path d=\"M{:.1f} {:.1f}l{:.0f} 3.5l{:.0f} 3.5z\"><title>{}</title></path>\n",
                    x_of(error) - away, at - 3.5, away, -away, xml_text(mark_tip(*check)));
  }
  return fmt::format("<g fill=\"{}\" fill-opacity=\"{}\">\n{}</g>\n", one.look->paint,
                     one.checks.size() > 100 ? "0.4" : "0.75", svg);
}

/// What one or two runs have in common is no distribution: their marks stand alone.
std::string box(const Strip& one, double y) {
  if (one.errors.size() < least_of_box) return "";
  const double from = x_of(one.at_share(0.1));
  const double median = x_of(one.at_share(0.5));
  return fmt::format(
             "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
             "stroke=\"#222222\"/>\n",
             from, y - half_box, x_of(one.at_share(0.9)) - from, 2.0 * half_box) +
         line_svg(median, y - half_box - 1.5, median, y + half_box + 1.5,
                  "stroke=\"#000000\" stroke-width=\"3\"");
}

/// Columns right of the plot.
constexpr double column_runs = strips_left + plot_width + 70.0;
constexpr double column_median = column_runs + 74.0;
constexpr double column_range = column_median + 104.0;

std::string numbers(const Strip& one, double y) {
  const bool off = std::abs(one.at_share(0.5)) > notable;
  const char* weight = off ? " font-weight=\"bold\"" : "";
  std::string svg = svg_label(strips_left - 12.0, y + 4.0, "end", cut(one.label, 24), weight);
  svg += svg_label(column_runs, y + 4.0, "end",
                   with_thousands(static_cast<std::int64_t>(one.errors.size())));
  svg +=
      svg_label(column_median, y + 4.0, "end", signed_percent_text(one.at_share(0.5), 1), weight);
  if (one.errors.size() < least_of_box) return svg;
  return svg + svg_label(column_range, y + 4.0, "end",
                         signed_percent_text(one.at_share(0.1), 1) + " / " +
                             signed_percent_text(one.at_share(0.9), 1));
}

std::string legend(const std::vector<Strip>& strips) {
  double x = strips_left;
  std::string svg;
  const GroupLook* last = nullptr;
  for (const Strip& one : strips) {
    if (one.look == last) continue;
    last = one.look;
    svg += fmt::format("<g fill=\"{}\">{}</g>\n", last->paint,
                       mark_svg(last->shape, x + 6.0, 88.0, 9.0));
    svg += svg_label(x + 18.0, 92.0, "start", last->name);
    x += 18.0 + 7.5 * static_cast<double>(std::string(last->name).size()) + 18.0;
  }
  svg += fmt::format(
      "<rect x=\"{:.1f}\" y=\"81\" width=\"26\" height=\"14\" fill=\"none\" stroke=\"#222222\"/>\n",
      x);
  svg += line_svg(x + 11.0, 79.5, x + 11.0, 96.5, "stroke=\"#000000\" stroke-width=\"3\"");
  svg += svg_label(x + 34.0, 92.0, "start", "median, P10 to P90");
  for (const auto& [text, column] : {std::pair{"runs", column_runs},
                                     {"median, %", column_median},
                                     {"P10 / P90, %", column_range}})
    svg += svg_label(column, strips_top - 8.0, "end", text, " fill=\"#555555\"");
  return svg;
}

std::string details(const std::vector<Strip>& strips) {
  std::ptrdiff_t runs = 0;
  std::ptrdiff_t outside = 0;
  for (const Strip& one : strips) {
    runs += std::ssize(one.errors);
    outside += std::count_if(one.errors.begin(), one.errors.end(),
                             [](double error) { return std::abs(error) > reach; });
  }
  std::string text =
      fmt::format("{} measured runs; grey: within 5 and 10 %; bold: median more than 10 % off",
                  with_thousands(runs));
  if (outside > 0) text += fmt::format("; arrowheads: {} beyond 40 %", with_thousands(outside));
  return text;
}

}  // namespace

std::string validation_residuals_svg(const Validation& validation) {
  const std::vector<Strip> strips = strips_of(validation);
  FORETRAIN_REQUIRE(!strips.empty());
  const double height = strips_top + strip * static_cast<double>(strips.size()) + strips_below;
  std::string svg = svg_start(strips_left + plot_width + table_width, height);
  svg += svg_label(strips_left, 34.0, "start", "Error of predicted step times, by source",
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(strips_left, 59.0, "start", details(strips), " font-size=\"13\"");
  svg += legend(strips) + ground(strips.size());
  for (std::size_t row = 0; row < strips.size(); ++row) {
    const double y = y_of(row);
    if (row > 0 && strips[row].look != strips[row - 1].look)
      svg += line_svg(12.0, y - strip / 2.0, column_range, y - strip / 2.0, "stroke=\"#888888\"");
    svg += marks(strips[row], y) + box(strips[row], y) + numbers(strips[row], y);
  }
  return svg + "</svg>\n";
}

}  // namespace foretrain
