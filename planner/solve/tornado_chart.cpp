// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/scene/scene.hpp"
#include "planner/scene/scene_parts.hpp"
#include "planner/solve/sensitivity.hpp"

namespace foretrain {
namespace {

constexpr double shown_from = 5e-5;  ///< less reads as zero
constexpr const char* widest_number = "\u221200.00 %";

std::string signed_change(double share) {
  const double percent = std::abs(100.0 * share);
  if (percent < 0.005) return "0 %";
  return fmt::format("{}{:.{}f} %", share > 0.0 ? "+" : "\u2212", percent, percent < 0.995 ? 2 : 1);
}

class TornadoChart {
 public:
  TornadoChart(const Sensitivity& result, const SceneSpace& space)
      : result_{result}, scene_{space}, by_{fmt::format("{:.4g} %", 100.0 * result.by)} {}

  Scene drawn() {
    const SceneArea area = scene_.headline(headline());
    const auto& levers = result_.levers;
    for (const SensitivityLever& lever : levers)
      label_ = std::max(label_, scene_.text_width(lever.label));
    label_ = std::min(label_, area.width * 0.36);
    number_ = scene_.text_width(widest_number) + 10.0;
    const double line = scene_.line_height();
    const std::vector<LegendEntry> legend{{low_paint, "input " + by_ + " lower"},
                                          {high_paint, "input " + by_ + " higher"}};
    const double below = legend_height(scene_, area.width, legend) + x_axis_height(scene_) + 4.0 +
                         (result_.unmoved.empty() ? 0.0 : line + 6.0);
    plot_ = area.inside(label_ + 14.0 + number_, 2.0, number_, below);
    if (plot_.width < 60.0 || plot_.height < 40.0) return std::move(scene_);
    row_ = std::min(84.0, plot_.height / static_cast<double>(levers.size()));
    plot_.height = row_ * static_cast<double>(levers.size());
    fit_scale();
    add_x_axis(scene_, plot_, even_axis(x_, static_cast<int>(plot_.width / 90.0), signed_change),
               fmt::format("change of the {}", name_of(result_.metric)));
    for (std::size_t row = 0; row < levers.size(); ++row) add_lever(row);
    const double zero = std::round(x_.at(0.0)) + 0.5;
    scene_.line({zero, plot_.top}, {zero, plot_.bottom()}, Ink::text);
    const double y = plot_.bottom() + x_axis_height(scene_) + 4.0;
    const double used = add_legend(scene_, {area.left, y, area.width, 0.0}, legend);
    add_unmoved({area.left, y + used, area.width, area.bottom() - y - used});
    return std::move(scene_);
  }

 private:
  using enum Scene::Across;

  static constexpr Paint low_paint = palette::blue;
  static constexpr Paint high_paint = palette::orange;

  [[nodiscard]] SceneHeadline headline() const {
    const SensitivityLever& first = result_.levers.front();
    std::string label = first.label;
    label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
    const bool cost = result_.metric == SensitivityMetric::cost;
    return {fmt::format("{} matters most: {} of it is worth {} of the {}", label, by_,
                        percent_text(std::abs(std::min(first.low_change, first.high_change))),
                        name_of(result_.metric)),
            fmt::format("{} when one input moves down and up by {}, plan and all else equal",
                        cost               ? "cost of the run"
                        : result_.base.run ? "duration of the run"
                                           : "time per token",
                        by_)};
  }

  void fit_scale() {
    double low = 0.0;
    double high = 0.0;
    for (const SensitivityLever& lever : result_.levers) {
      low = std::min({low, lever.low_change, lever.high_change});
      high = std::max({high, lever.low_change, lever.high_change});
    }
    if (high - low < 1e-6) high = low + 1e-6;
    x_ = {low, high, plot_.left, plot_.right()};
  }

  void add_lever(std::size_t row) {
    const SensitivityLever& lever = result_.levers[row];
    const double top = plot_.top + row_ * static_cast<double>(row);
    const double y = top + row_ / 2.0;
    const double height = std::max(3.0, std::floor(std::min(24.0, row_ * 0.36)));
    const double zero = x_.at(0.0);
    const auto bar = [&](double change, double bar_top, const Paint& paint) {
      const double end_at = x_.at(change);
      scene_.box({std::min(zero, end_at), std::round(bar_top),
                  std::max(1.0, std::abs(end_at - zero)), height},
                 paint, std::min(2.0, height / 2.0));
    };
    bar(lever.low_change, y - height - 0.5, low_paint);
    bar(lever.high_change, y + 0.5, high_paint);
    scene_.text({plot_.left - number_ - 8.0, y}, end, Scene::Down::middle, lever.label, {}, label_);
    const double down = std::min(lever.low_change, lever.high_change);
    const double up = std::max(lever.low_change, lever.high_change);
    if (down < -shown_from)
      scene_.text({x_.at(down) - 5.0, y}, end, Scene::Down::middle, signed_change(down));
    if (up > shown_from)
      scene_.text({x_.at(up) + 5.0, y}, start, Scene::Down::middle, signed_change(up));
    SceneMark mark{{plot_.left - label_ - number_ - 8.0, top,
                    plot_.width + label_ + 2.0 * number_ + 8.0, row_},
                   lever.label};
    for (const auto& [point, change] :
         {std::pair{&lever.low, lever.low_change}, std::pair{&lever.high, lever.high_change}})
      mark.lines.push_back(fmt::format("times {:.4g}\t{} per step, {}", point->factor,
                                       seconds_text(point->step, scene_.space.units),
                                       signed_change(change)));
    scene_.marks.push_back(std::move(mark));
  }

  void add_unmoved(const SceneArea& area) {
    if (result_.unmoved.empty() || area.height < scene_.line_height()) return;
    std::string names;
    for (const UnmovedInput& input : result_.unmoved)
      names += (names.empty() ? "" : ", ") + input.label;
    scene_.text({area.left, area.top}, start, Scene::Down::top, "Not given or not there: " + names,
                {Ink::muted}, area.width);
  }

  const Sensitivity& result_;
  Scene scene_;
  const std::string by_;
  SceneArea plot_;
  AxisScale x_;  ///< change as a share
  double row_ = 0.0;
  double label_ = 0.0;
  double number_ = 0.0;
};

}  // namespace

Scene tornado_chart(const Sensitivity& result, const SceneSpace& space) {
  FORETRAIN_REQUIRE(!result.levers.empty());
  return TornadoChart(result, space).drawn();
}

std::string tornado_csv(const Sensitivity& result) {
  std::string text = "input,low_factor,low_change,high_factor,high_change\n";
  for (const SensitivityLever& lever : result.levers)
    text += fmt::format("{},{:.17g},{:.17g},{:.17g},{:.17g}\n", lever.key, lever.low.factor,
                        lever.low_change, lever.high.factor, lever.high_change);
  return text;
}

}  // namespace foretrain
