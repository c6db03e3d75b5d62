// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "planner/diagnosis/internal/diagnosis_words.hpp"
#include "planner/text/format.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/svg_text.hpp"

namespace foretrain {
namespace {

constexpr double width = 760.0;

std::string pixel(double value) { return fmt::format("{:.1f}", value); }

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

std::string series_svg(const DiagnosisReport& report) {
  constexpr double height = 220.0;
  constexpr double left = 56.0;
  constexpr double bottom = 190.0;
  const auto steps = drawn(report.log.series);
  if (steps.size() < 2) return "";
  const Diagnosis& diagnosis = report.diagnosis;
  // Beyond three times the median a stall is cut off at the top of the picture.
  double top = 1.1 * std::max(diagnosis.forecast.high.value(), diagnosis.course.p90);
  for (const LoggedStep& step : steps)
    top = std::max(top, std::min<double>(step.seconds, 3.0 * diagnosis.course.median));
  const auto y = [&](double seconds) {
    return bottom - 170.0 * std::clamp(seconds / top, 0.0, 1.0);
  };
  std::string svg = svg_start(width, height);
  const double high = y(diagnosis.forecast.high.value());
  svg += fmt::format("<rect x='{}' y='{}' width='{}' height='{}' fill='{}' opacity='0.25'/>",
                     pixel(left), pixel(high), pixel(width - left - 10.0),
                     pixel(y(diagnosis.forecast.low.value()) - high), palette::green.light);
  std::string points;
  for (std::size_t i = 0; i < steps.size(); ++i)
    points += pixel(left + (width - left - 10.0) * static_cast<double>(i) /
                               static_cast<double>(steps.size() - 1)) +
              "," + pixel(y(steps[i].seconds)) + " ";
  svg += fmt::format("<polyline fill='none' stroke='{}' stroke-width='1.2' points='{}'/>",
                     palette::blue.light, points);
  svg += svg_label(left - 6.0, y(top) + 4.0, "end", signed_seconds(top));
  svg += svg_label(left - 6.0, bottom, "end", "0 s");
  svg += svg_label(left, bottom + 18.0, "start", fmt::format("step {}", steps.front().step));
  svg += svg_label(width - 10.0, bottom + 18.0, "end", fmt::format("step {}", steps.back().step));
  return svg + "</svg>\n";
}

}  // namespace foretrain
