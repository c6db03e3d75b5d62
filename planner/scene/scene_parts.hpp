// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/scene/scene.hpp"

namespace foretrain {

/// Maps values to pixels, evenly or by their logarithm.
class AxisScale {
 public:
  AxisScale() = default;
  /// @pre low < high; with `logarithmic`, 0 < low
  AxisScale(double low, double high, double from, double to, bool logarithmic = false);

  [[nodiscard]] double at(double value) const;
  [[nodiscard]] double value_at(double pixel) const;
  [[nodiscard]] double low() const { return low_; }
  [[nodiscard]] double high() const { return high_; }
  /// The same pixels in another unit, of which the old one has `size`.
  [[nodiscard]] AxisScale in(double size) const;

 private:
  double low_ = 0.0;
  double high_ = 1.0;
  double from_ = 0.0;
  double to_ = 1.0;
  bool logarithmic_ = false;
};

/// A tick of a logarithmic axis; `strong` ones carry numbers.
struct LogTick {
  double value = 1.0;
  bool strong = true;
};
/// Powers of ten, and 2 and 5 times them as far as `most` numbers allow. @pre 0 < low < high
[[nodiscard]] std::vector<LogTick> log_ticks(double low, double high, int most);

/// A labelled position of an axis; without text only a grid line.
struct AxisTick {
  double at = 0.0;  ///< pixel
  std::string text;
};
using TickText = std::function<std::string(double value)>;
/// As short as it stays the same: "0.25", "40".
[[nodiscard]] std::string tick_text(double value);
[[nodiscard]] std::vector<AxisTick> even_axis(const AxisScale& scale, int most,
                                              const TickText& text = tick_text);
[[nodiscard]] std::vector<AxisTick> log_axis(const AxisScale& scale, int most,
                                             const TickText& text = tick_text);

/// Grid lines with numbers below a plot, and a name below them. Numbers that would touch are left
/// out.
void add_x_axis(Scene& scene, const SceneArea& plot, const std::vector<AxisTick>& ticks,
                const std::string& name = {});
/// The same to the left of a plot.
void add_y_axis(Scene& scene, const SceneArea& plot, const std::vector<AxisTick>& ticks,
                const std::string& name = {});
/// Where add_y_axis() and add_x_axis() find room: a plot inside `area`.
[[nodiscard]] SceneArea plot_inside(const Scene& scene, const SceneArea& area,
                                    const std::string& widest_number);
/// The room below a plot that the numbers and the name of its axis take.
[[nodiscard]] double x_axis_height(const Scene& scene);

struct LegendEntry {
  SceneColour paint;
  std::string text;
};
/// Entries in rows from the upper left corner of `area`, each row as wide as the area. Returns the
/// height.
double add_legend(Scene& scene, const SceneArea& area, const std::vector<LegendEntry>& entries);
/// The height that add_legend() will take.
[[nodiscard]] double legend_height(const Scene& scene, double width,
                                   const std::vector<LegendEntry>& entries);

/// Labels for points: each is put beside its point where it hits neither the plot's edge nor what
/// is there already; those without such a place are left out.
class PointLabels {
 public:
  explicit PointLabels(const SceneArea& plot) : plot_{plot} {}
  /// Something that labels must not cover.
  void keep_clear(const SceneArea& area) { taken_.push_back(area); }
  bool place(Scene& scene, ScenePoint point, double radius, const std::string& words,
             const SceneLetters& letters = {});

 private:
  SceneArea plot_;
  std::vector<SceneArea> taken_;
};

}  // namespace foretrain
