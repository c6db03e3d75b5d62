// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/forecast/step_power.hpp"
#include "planner/text/format.hpp"
#include "planner/text/svg_text.hpp"
#include "planner/text/text_layout.hpp"
#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

// Pixels.
constexpr double power_left = 84.0;
constexpr double power_width = 900.0;
constexpr double power_top = 76.0;
constexpr double panel_height = 170.0;
constexpr double panel_gap = 48.0;
constexpr double most_points = 900.0;

/// One curve of watts in a panel of its own.
struct PowerPanel {
  const std::vector<Watts>& course;
  std::string title;
  Watts unit;
  const char* unit_name;
  double top = 0.0;
  Watts scale{};  ///< at its upper edge

  [[nodiscard]] double y(Watts at) const { return top + panel_height * (1.0 - at / scale); }
};

/// Means over as many stretches as there are pixels, each drawn as a level.
std::string power_line(const PowerPanel& panel) {
  const double count = static_cast<double>(panel.course.size());
  const double points = std::min(count, most_points);
  std::string path;
  for (double i = 0.0; i < points; i += 1.0) {
    const auto from = static_cast<std::size_t>(std::floor(i * count / points));
    const auto to = static_cast<std::size_t>(std::floor((i + 1.0) * count / points));
    Watts sum;
    for (std::size_t at = from; at < to; ++at) sum += panel.course[at];
    const double y = panel.y(sum / static_cast<double>(to - from));
    path += fmt::format("{}{:.1f} {:.1f}H{:.1f}", i == 0.0 ? "M" : "L",
                        power_left + power_width * i / points, y,
                        power_left + power_width * (i + 1.0) / points);
  }
  return fmt::format(R"(<path d="{}" fill="none" stroke="#0072b2" stroke-width="1.4"/>)", path) +
         "\n";
}

std::string power_grid(const PowerPanel& panel) {
  std::string svg = svg_label(power_left, panel.top - 8.0, "start", panel.title);
  const double step = round_step(panel.scale / panel.unit, 5);
  for (double at = 0.0; at * panel.unit <= panel.scale; at += step) {
    const double y = panel.y(at * panel.unit);
    svg += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n",
                       power_left, y, power_left + power_width, y, svg_grid);
    svg +=
        svg_label(power_left - 8.0, y + 4.0, "end", significant_text(at) + " " + panel.unit_name);
  }
  return svg;
}

std::string time_axis(Seconds time, double bottom) {
  const double step = round_step(time.value(), 10);
  std::string svg;
  for (double at = 0.0; at <= time.value() * (1.0 + 1e-9); at += step)
    svg += svg_label(power_left + power_width * (at / time.value()), bottom + 20.0, "middle",
                     seconds_text(Seconds{at}));
  return svg;
}

}  // namespace

std::string power_svg(const PowerCourse& course, const std::string& name) {
  FORETRAIN_REQUIRE(!course.site.empty());
  const Watts most = *std::max_element(course.site.begin(), course.site.end());
  const bool large = most.value() >= 1e6;
  std::vector<PowerPanel> panels{
      {course.gpu, "one GPU of the first stage", Watts{1.0}, "W"},
      {course.host, "the first host", Watts{1e3}, "kW"},
      {course.site, "all at the meter", Watts{large ? 1e6 : 1e3}, large ? "MW" : "kW"}};
  double top = power_top + 16.0;
  std::string svg;
  for (PowerPanel& panel : panels) {
    panel.top = top;
    panel.scale = 1.1 * *std::max_element(panel.course.begin(), panel.course.end());
    svg += power_grid(panel) + power_line(panel);
    top += panel_height + panel_gap;
  }
  const double bottom = top - panel_gap;
  const Seconds time = static_cast<double>(course.site.size()) * course.sample;
  return svg_start(power_left + power_width + 40.0, bottom + 36.0) +
         svg_label(power_left, 34.0, "start", cut(name + ": power over one optimizer step", 90),
                   " font-size=\"17\" font-weight=\"bold\"") +
         svg + time_axis(time, bottom) + "</svg>\n";
}

}  // namespace foretrain
