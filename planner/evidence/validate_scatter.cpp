// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/validate_pictures.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double scatter_left = 86.0;
constexpr double scatter_top = 84.0;
constexpr double side = 760.0;
constexpr double scatter_below = 64.0;
constexpr double scatter_legend_width = 250.0;
constexpr double scatter_mark_size = 5.0;
constexpr double scatter_large_mark = 7.0;  ///< of groups with few runs among many
constexpr std::ptrdiff_t few_scatter = 200;

constexpr const char* equal_line = "stroke=\"#222222\" stroke-width=\"1.2\"";
constexpr const char* near_line =
    "stroke=\"#222222\" stroke-width=\"0.9\" stroke-dasharray=\"7 4\"";
constexpr const char* far_line =
    "stroke=\"#222222\" stroke-width=\"0.9\" stroke-dasharray=\"1.5 3\"";

using Checks = std::vector<const RecordCheck*>;

/// Where things lie: seconds from `low` to `high` on both axes.
struct Frame {
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] double share(double seconds) const {
    return std::log(seconds / low) / std::log(high / low);
  }
  [[nodiscard]] double x(double seconds) const { return scatter_left + side * share(seconds); }
  [[nodiscard]] double y(double seconds) const {
    return scatter_top + side * (1.0 - share(seconds));
  }
};

Frame frame_of(const Checks& checks) {
  constexpr double margin = 1.25;
  Frame frame{checks.front()->measured, checks.front()->measured};
  for (const RecordCheck* check : checks) {
    frame.low = std::min({frame.low, check->measured, check->predicted});
    frame.high = std::max({frame.high, check->measured, check->predicted});
  }
  frame.low /= margin;
  frame.high *= margin;
  return frame;
}

std::string tick_text(double seconds) {
  if (seconds < 0.9e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  return seconds < 0.9 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.6g} s", seconds);
}

std::string axes(const Frame& frame) {
  // Every 1, 2 and 5 has a number where the axis is short, powers of ten alone where it is long.
  const bool every = std::log10(frame.high / frame.low) < 2.5;
  std::string svg;
  const int last = static_cast<int>(std::floor(std::log10(frame.high)));
  for (int power = static_cast<int>(std::floor(std::log10(frame.low))); power <= last; ++power)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double at = digit * std::pow(10.0, power);
      if (at < frame.low || at > frame.high) continue;
      const bool numbered = every || digit == 1.0;
      const char* style = numbered ? "stroke=\"#d4d4d4\"" : "stroke=\"#eeeeee\"";
      svg += line_svg(frame.x(at), scatter_top, frame.x(at), scatter_top + side, style);
      svg += line_svg(scatter_left, frame.y(at), scatter_left + side, frame.y(at), style);
      if (!numbered) continue;
      svg += svg_label(frame.x(at), scatter_top + side + 18.0, "middle", tick_text(at));
      svg += svg_label(scatter_left - 8.0, frame.y(at) + 4.0, "end", tick_text(at));
    }
  svg += fmt::format(
      "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"none\" "
      "stroke=\"#888888\"/>\n",
      scatter_left, scatter_top, side, side);
  const double middle = scatter_top + side / 2.0;
  svg += svg_label(scatter_left + side / 2.0, scatter_top + side + 44.0, "middle",
                   "measured step time", " font-size=\"13\"");
  return svg +
         svg_label(22.0, middle, "middle", "predicted step time",
                   fmt::format(" font-size=\"13\" transform=\"rotate(-90 22 {:.1f})\"", middle));
}

/// Predicted = factor x measured, as far as the plot goes.
std::string ratio_line(const Frame& frame, double factor, const char* style) {
  const double from = std::max(frame.low, frame.low / factor);
  const double to = std::min(frame.high, frame.high / factor);
  return line_svg(frame.x(from), frame.y(from * factor), frame.x(to), frame.y(to * factor), style);
}

std::string marks(const Frame& frame, const Checks& checks) {
  std::string svg;
  for (const GroupLook& look : group_looks) {
    const auto own = [&](const RecordCheck* check) {
      return &look_of_group(check->group) == &look;
    };
    const double size = std::count_if(checks.begin(), checks.end(), own) < few_scatter
                            ? scatter_large_mark
                            : scatter_mark_size;
    std::string of_group;
    for (const RecordCheck* check : checks)
      if (own(check))
        of_group += mark_svg(look.shape, frame.x(check->measured), frame.y(check->predicted), size,
                             mark_tip(*check));
    if (of_group.empty()) continue;
    svg += fmt::format(
        "<g fill=\"{}\" fill-opacity=\"0.65\" stroke=\"#ffffff\" stroke-width=\"0.3\">\n{}</g>\n",
        look.paint, of_group);
  }
  return svg;
}

const CheckSummary& total(const Validation& validation, const std::string& group) {
  const auto found = std::find_if(
      validation.summary.begin(), validation.summary.end(), [&](const CheckSummary& line) {
        return line.source == "all" && line.quantity == step_quantity && line.group == group;
      });
  FORETRAIN_REQUIRE(found != validation.summary.end());
  return *found;
}

std::string legend(const Validation& validation, const Checks& checks) {
  const double x = scatter_left + side + 24.0;
  double y = scatter_top + 12.0;
  std::string svg;
  for (const GroupLook& look : group_looks) {
    const auto first = std::find_if(checks.begin(), checks.end(), [&](const RecordCheck* check) {
      return &look_of_group(check->group) == &look;
    });
    if (first == checks.end()) continue;
    const CheckSummary& line = total(validation, (*first)->group);
    svg += fmt::format("<g fill=\"{}\">{}</g>\n", look.paint,
                       mark_svg(look.shape, x + 9.0, y - 4.0, 10.0));
    svg += svg_label(x + 28.0, y, "start", look.name, " font-weight=\"bold\"");
    svg += svg_label(x + 28.0, y + 18.0, "start",
                     fmt::format("n {}, median |error| {}", with_thousands(line.count),
                                 percent_text(line.median)));
    y += 48.0;
  }
  y += 4.0;
  const auto entry = [&](const char* style, const char* text) {
    svg += line_svg(x - 4.0, y - 4.0, x + 20.0, y - 4.0, style);
    svg += svg_label(x + 28.0, y, "start", text);
    y += 24.0;
  };
  entry(equal_line, "predicted = measured");
  entry(near_line, "5 % off");
  entry(far_line, "10 % off");
  return svg;
}

std::string details(const Validation& validation, const Checks& checks) {
  const auto within = [&](double bound) {
    const auto close = std::count_if(checks.begin(), checks.end(), [&](const RecordCheck* check) {
      return std::abs(check->error()) <= bound;
    });
    return fixed_text(100.0 * static_cast<double>(close) / static_cast<double>(checks.size()), 0);
  };
  return fmt::format(
      "{} measured runs: {} % within 5 %, {} % within 10 %, {} % within 20 %; median |error| {}",
      with_thousands(static_cast<std::int64_t>(checks.size())), within(0.05), within(0.10),
      within(0.20), percent_text(total(validation, "").median));
}

}  // namespace

bool has_step_times(const Validation& validation) { return !compared_steps(validation).empty(); }

std::string validation_scatter_svg(const Validation& validation) {
  const Checks checks = compared_steps(validation);
  FORETRAIN_REQUIRE(!checks.empty());
  const Frame frame = frame_of(checks);
  std::string svg =
      svg_start(scatter_left + side + scatter_legend_width, scatter_top + side + scatter_below);
  svg += svg_label(scatter_left, 34.0, "start", "Step time, predicted against measured",
                   " font-size=\"17\" font-weight=\"bold\"");
  svg += svg_label(scatter_left, 60.0, "start", details(validation, checks), " font-size=\"13\"");
  svg += axes(frame) + marks(frame, checks);
  svg += ratio_line(frame, 1.0, equal_line);
  for (const double error : {0.05, -0.05}) svg += ratio_line(frame, 1.0 + error, near_line);
  for (const double error : {0.10, -0.10}) svg += ratio_line(frame, 1.0 + error, far_line);
  return svg + legend(validation, checks) + "</svg>\n";
}

}  // namespace foretrain
