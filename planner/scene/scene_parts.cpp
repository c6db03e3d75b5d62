// SPDX-License-Identifier: Apache-2.0
#include "planner/scene/scene_parts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "planner/text/ticks.hpp"

namespace foretrain {
namespace {

using enum Scene::Across;

constexpr double swatch = 10.0;
constexpr double entry_gap = 18.0;

/// Calls place(entry, x, row, width) for each, and returns how many rows there are.
template <class Place>
int in_rows(const Scene& scene, double width, const std::vector<LegendEntry>& entries,
            Place place) {
  int row = 0;
  double x = 0.0;
  for (const LegendEntry& entry : entries) {
    const double wide = swatch + 6.0 + scene.text_width(entry.text);
    if (x > 0.0 && x + wide > width) {
      ++row;
      x = 0.0;
    }
    place(entry, x, row);
    x += wide + entry_gap;
  }
  return entries.empty() ? 0 : row + 1;
}

}  // namespace

AxisScale::AxisScale(double low, double high, double from, double to, bool logarithmic)
    : low_{low}, high_{high}, from_{from}, to_{to}, logarithmic_{logarithmic} {}

double AxisScale::at(double value) const {
  const double share = logarithmic_ ? std::log(value / low_) / std::log(high_ / low_)
                                    : (value - low_) / (high_ - low_);
  return from_ + share * (to_ - from_);
}

double AxisScale::value_at(double pixel) const {
  const double share = (pixel - from_) / (to_ - from_);
  return logarithmic_ ? low_ * std::pow(high_ / low_, share) : low_ + share * (high_ - low_);
}

AxisScale AxisScale::in(double size) const {
  return {low_ / size, high_ / size, from_, to_, logarithmic_};
}

std::vector<LogTick> log_ticks(double low, double high, int most) {
  const double decades = std::log10(high / low);
  const bool every = 3.0 * decades <= most;
  const auto first = static_cast<int>(std::floor(std::log10(low)));
  const auto last = static_cast<int>(std::ceil(std::log10(high)));
  const int apart = std::max(1, static_cast<int>(std::ceil(decades / most)));
  std::vector<LogTick> ticks;
  for (int power = first; power <= last; ++power)
    for (const double digit : {1.0, 2.0, 5.0}) {
      const double value = digit * std::pow(10.0, power);
      if (value < low * (1.0 - 1e-9) || value > high * (1.0 + 1e-9)) continue;
      ticks.push_back({value, every || (digit == 1.0 && power % apart == 0)});
    }
  return ticks;
}

std::string tick_text(double value) { return fmt::format("{:.6g}", value); }

std::vector<AxisTick> even_axis(const AxisScale& scale, int most, const TickText& text) {
  std::vector<AxisTick> ticks;
  for (const double value : round_ticks(scale.low(), scale.high(), std::max(2, most)))
    ticks.push_back({scale.at(value), text(value)});
  return ticks;
}

std::vector<AxisTick> log_axis(const AxisScale& scale, int most, const TickText& text) {
  // Less than about a decade has too few powers and halves.
  if (scale.high() / scale.low() < 16.0) return even_axis(scale, most, text);
  std::vector<AxisTick> ticks;
  for (const LogTick& tick : log_ticks(scale.low(), scale.high(), std::max(2, most)))
    ticks.push_back({scale.at(tick.value), tick.strong ? text(tick.value) : std::string{}});
  return ticks;
}

void add_x_axis(Scene& scene, const SceneArea& plot, const std::vector<AxisTick>& ticks,
                const std::string& name) {
  double free_from = -1e9;
  for (const AxisTick& tick : ticks) {
    const double x = std::round(tick.at) + 0.5;
    scene.line({x, plot.top}, {x, plot.bottom()});
    const double half = scene.text_width(tick.text) / 2.0;
    if (tick.text.empty() || x - half < free_from) continue;
    scene.text({x, plot.bottom() + 5.0}, middle, Scene::Down::top, tick.text);
    free_from = x + half + 8.0;
  }
  if (!name.empty())
    scene.text({plot.centre().x, plot.bottom() + 8.0 + scene.line_height()}, middle,
               Scene::Down::top, name, {Ink::muted}, plot.width);
}

void add_y_axis(Scene& scene, const SceneArea& plot, const std::vector<AxisTick>& ticks,
                const std::string& name) {
  double widest = 0.0;
  double free_below = 1e9;
  const double high = scene.line_height();
  for (const AxisTick& tick : ticks) {
    const double y = std::round(tick.at) + 0.5;
    scene.line({plot.left, y}, {plot.right(), y});
    if (tick.text.empty() || y + high / 2.0 > free_below) continue;
    scene.text({plot.left - 8.0, y}, end, Scene::Down::middle, tick.text);
    widest = std::max(widest, scene.text_width(tick.text));
    free_below = y - high / 2.0 - 2.0;
  }
  if (!name.empty() && scene.text_width(name) < plot.height)
    scene.upright({plot.left - 14.0 - widest - high / 2.0, plot.centre().y}, name);
}

double x_axis_height(const Scene& scene) { return 2.0 * scene.line_height() + 12.0; }

SceneArea plot_inside(const Scene& scene, const SceneArea& area, const std::string& widest_number) {
  return area.inside(scene.text_width(widest_number) + scene.line_height() + 16.0, 6.0, 4.0,
                     x_axis_height(scene));
}

double legend_height(const Scene& scene, double width, const std::vector<LegendEntry>& entries) {
  return in_rows(scene, width, entries, [](auto&&...) {}) * (scene.line_height() + 4.0);
}

double add_legend(Scene& scene, const SceneArea& area, const std::vector<LegendEntry>& entries) {
  const double high = scene.line_height();
  const int rows =
      in_rows(scene, area.width, entries, [&](const LegendEntry& entry, double x, int row) {
        const ScenePoint at{area.left + x, area.top + row * (high + 4.0)};
        scene.box({at.x, at.y + (high - swatch) / 2.0, swatch, swatch}, entry.paint, 2.0);
        scene.text({at.x + swatch + 6.0, at.y}, start, Scene::Down::top, entry.text, {Ink::muted},
                   area.right() - at.x - swatch - 6.0);
      });
  return rows * (high + 4.0);
}

bool PointLabels::place(Scene& scene, ScenePoint point, double radius, const std::string& words,
                        const SceneLetters& letters) {
  const double width = std::ceil(scene.text_width(words, letters));
  const double height = scene.line_height(letters.size);
  const double away = radius + 4.0;
  const std::array<ScenePoint, 8> corners{{{point.x + away, point.y - height / 2.0},
                                           {point.x - away - width, point.y - height / 2.0},
                                           {point.x - width / 2.0, point.y - away - height},
                                           {point.x - width / 2.0, point.y + away},
                                           {point.x + away, point.y - height - 2.0},
                                           {point.x + away, point.y + 2.0},
                                           {point.x - away - width, point.y - height - 2.0},
                                           {point.x - away - width, point.y + 2.0}}};
  for (const ScenePoint& corner : corners) {
    const SceneArea area{corner.x - 2.0, corner.y, width + 4.0, height};
    if (!plot_.contains(area)) continue;
    if (std::any_of(taken_.begin(), taken_.end(),
                    [&](const SceneArea& other) { return other.meets(area); }))
      continue;
    scene.text(corner, start, Scene::Down::top, words, letters);
    taken_.push_back(area);
    return true;
  }
  return false;
}

}  // namespace foretrain
