// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/scene/scene_parts.hpp"

namespace foretrain {
namespace {

/// The most points of a picture: of more, the slowest of each stretch is drawn, so that no stall
/// is lost.
std::vector<LoggedStep> drawn(const std::vector<LoggedStep>& series) {
  constexpr std::size_t most = 1000;
  std::vector<LoggedStep> steps;
  for (const LoggedStep& step : series)
    if (std::isfinite(step.seconds) && step.seconds > 0.0F) steps.push_back(step);
  if (steps.size() <= most) return steps;
  std::vector<LoggedStep> kept;
  const std::size_t stretch = (steps.size() + most - 1) / most;
  for (std::size_t first = 0; first < steps.size(); first += stretch) {
    const auto from = steps.begin() + static_cast<std::ptrdiff_t>(first);
    const auto to =
        steps.begin() + static_cast<std::ptrdiff_t>(std::min(steps.size(), first + stretch));
    kept.push_back(*std::max_element(
        from, to, [](const LoggedStep& a, const LoggedStep& b) { return a.seconds < b.seconds; }));
  }
  return kept;
}

}  // namespace

std::optional<Scene> series_chart(const DiagnosisReport& report, const SceneSpace& space) {
  const auto steps = drawn(report.log.series);
  if (steps.size() < 2) return std::nullopt;
  const Diagnosis& diagnosis = report.diagnosis;
  // Beyond three times the median a stall is cut off at the top of the picture.
  double top = 1.1 * std::max(diagnosis.forecast.high.value(), diagnosis.course.p90);
  for (const LoggedStep& step : steps)
    top = std::max(top, std::min<double>(step.seconds, 3.0 * diagnosis.course.median));
  Scene scene{space};
  const std::vector<LegendEntry> legend{{palette::blue, "logged steps"},
                                        {{palette::green, 0.25}, "band of the forecast"}};
  const SceneArea area = scene.chart.inside(8.0, 8.0, 8.0, 8.0);
  const double below = legend_height(scene, area.width, legend) + 4.0;
  const SceneArea plot = plot_inside(scene, area.inside(0.0, 0.0, 0.0, below), "00,000 ms");
  const AxisUnit unit = seconds_axis(Seconds{top}, space.units);
  const AxisScale y{0.0, top, plot.bottom(), plot.top};
  // By place, since a run that went back to a checkpoint counts some steps twice.
  const AxisScale x{0.0, static_cast<double>(steps.size() - 1), plot.left, plot.right()};
  add_x_axis(scene, plot,
             even_axis(x, static_cast<int>(plot.width / 90.0),
                       [&](double at) {
                         return with_thousands(steps[static_cast<std::size_t>(at)].step);
                       }),
             "step");
  add_y_axis(scene, plot,
             even_axis(y.in(unit.size), static_cast<int>(plot.height / 34.0),
                       [&](double at) { return tick_text(at) + " " + unit.name; }));
  const double high = y.at(std::min(top, diagnosis.forecast.high.value()));
  scene.box({plot.left, high, plot.width, y.at(diagnosis.forecast.low.value()) - high},
            {palette::green, 0.25});
  ScenePath line{{}, std::nullopt, SceneColour{palette::blue}, 1.2};
  for (std::size_t i = 0; i < steps.size(); ++i)
    line.points.push_back(
        {x.at(static_cast<double>(i)), y.at(std::min<double>(top, steps[i].seconds))});
  scene.add(std::move(line));
  add_legend(scene, {area.left, area.bottom() - below + 4.0, area.width, 0.0}, legend);
  return scene;
}

}  // namespace foretrain
