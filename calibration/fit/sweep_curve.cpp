// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/sweep_curve.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "calibration/fit/internal/numeric_fit.hpp"
#include "models/base/percentile.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr double gb_per_s = 1e3;  // bytes per microsecond
constexpr int digits = 6;

struct Point {
  double size;
  double time;
};

std::vector<Point> points_of(const std::vector<SweepRecord>& sweep) {
  std::vector<Point> points;
  for (const SweepRecord& record : sweep) {
    FORETRAIN_REQUIRE(record.time_us.value_or(0.0) > 0.0 && record.size_bytes > 0.0);
    points.push_back({record.size_bytes, *record.time_us});
  }
  return points;
}

double least(const std::vector<CurveLine>& lines, double size) {
  double time = INFINITY;
  for (const CurveLine& line : lines)
    time = std::min(time, line.base_us + size / (line.rate_gbs * gb_per_s));
  return time;
}

/// The line through the sweep around one of its sizes, to start from.
CurveLine tangent(const std::vector<Point>& sorted, double share) {
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto middle = static_cast<std::size_t>(std::lround(share * last));
  std::size_t low = middle;
  std::size_t high = middle;
  while (low > 0 && sorted[low].size * 2.0 > sorted[middle].size) --low;
  while (high + 1 < sorted.size() && sorted[high].size < sorted[middle].size * 2.0) ++high;
  const Point& at = sorted[middle];
  const double run = sorted[high].size - sorted[low].size;
  const double rise = sorted[high].time - sorted[low].time;
  constexpr double least_share = 0.02;
  const double slope = std::clamp(run > 0.0 ? rise / run : 0.0, least_share * at.time / at.size,
                                  at.time / at.size * (1.0 - least_share));
  return {at.time - slope * at.size, 1.0 / (slope * gb_per_s)};
}

std::vector<CurveLine> start_lines(std::vector<Point> sorted, std::size_t count) {
  std::ranges::sort(sorted, [](const Point& a, const Point& b) { return a.size < b.size; });
  std::vector<CurveLine> lines;
  for (std::size_t i = 0; i < count; ++i)
    lines.push_back(tangent(sorted, (static_cast<double>(i) + 0.5) / static_cast<double>(count)));
  return lines;
}

std::vector<CurveLine> lines_of(const std::vector<double>& values) {
  std::vector<CurveLine> lines;
  for (std::size_t i = 0; i + 1 < values.size(); i += 2)
    lines.push_back({values[i], values[i + 1]});
  return lines;
}

std::vector<double> log_errors(const std::vector<CurveLine>& lines,
                               const std::vector<Point>& points) {
  std::vector<double> errors;
  for (const Point& point : points)
    errors.push_back(std::log(least(lines, point.size) / point.time));
  return errors;
}

std::vector<CurveLine> fitted(const std::vector<CurveLine>& start, const std::vector<Point>& points,
                              const std::vector<double>& weights) {
  constexpr double width = 3.0;  // the sweep decides, not where it starts
  constexpr double span = 1e4;
  std::vector<NumericConstant> constants;
  for (const CurveLine& line : start) {
    constants.push_back({line.base_us, width, line.base_us / span, line.base_us * span});
    constants.push_back({line.rate_gbs, width, line.rate_gbs / span, line.rate_gbs * span});
  }
  return lines_of(numeric_fit(constants,
                              [&](const std::vector<double>& values) {
                                return log_errors(lines_of(values), points);
                              },
                              weights, {.digits = digits})
                      .values);
}

}  // namespace

double SweepCurve::time_us(double size_bytes) const {
  FORETRAIN_REQUIRE(!lines.empty());
  return least(lines, size_bytes);
}

SweepCurve fit_sweep_curve(const std::vector<SweepRecord>& sweep) {
  constexpr double far_off = 0.25;
  constexpr double of_median = 6.0;
  const std::vector<Point> points = points_of(sweep);
  std::set<double> sizes;
  for (const Point& point : points) sizes.insert(point.size);
  SweepCurve curve;
  const std::size_t count = sizes.size() >= 6 ? 3 : sizes.size() >= 4 ? 2 : sizes.size() / 2;
  if (count == 0) return curve;
  const std::vector<CurveLine> start = start_lines(points, count);
  std::vector<double> weights(points.size(), 1.0);
  curve.lines = fitted(start, points, weights);
  std::vector<double> errors = log_errors(curve.lines, points);
  std::vector<double> amounts;
  for (const double error : errors) amounts.push_back(std::abs(error));
  const double limit = std::max(std::log1p(far_off), of_median * percentile_of(amounts, 0.5));
  for (std::size_t i = 0; i < errors.size(); ++i)
    if (std::abs(errors[i]) > limit) weights[i] = 0.0;
  if (std::ranges::count(weights, 0.0) > 0) {
    curve.lines = fitted(start, points, weights);
    errors = log_errors(curve.lines, points);
    for (std::size_t i = 0; i < errors.size(); ++i)
      if (weights[i] == 0.0) curve.outliers.push_back({i, errors[i]});
  }
  curve.errors = fit_errors(errors);
  return curve;
}

}  // namespace foretrain
