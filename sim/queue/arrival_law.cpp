// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/arrival_law.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace foretrain {
namespace {

constexpr double day_s = 86400.0;
constexpr double week_s = 7.0 * day_s;

/// Remainder in [0, period), for times before zero, too.
double phase(double time, double period) { return time - std::floor(time / period) * period; }

/// The shape's value at a share of its period, over the shape's mean; 1 without a shape.
double relative(const std::vector<double>& shape, double share) {
  if (shape.empty()) return 1.0;
  const auto place = static_cast<std::size_t>(share * static_cast<double>(shape.size()));
  const double sum = std::accumulate(shape.begin(), shape.end(), 0.0);
  return shape[std::min(place, shape.size() - 1)] * static_cast<double>(shape.size()) / sum;
}

double highest(const std::vector<double>& shape) {
  double most = 1.0;
  for (std::size_t i = 0; i < shape.size(); ++i)
    most = std::max(
        most, relative(shape, (static_cast<double>(i) + 0.5) / static_cast<double>(shape.size())));
  return most;
}

}  // namespace

bool ArrivalPeak::holds(Seconds time) const {
  const double since = (time - from).value();
  if (since < 0.0) return false;
  return (every > Seconds{} ? phase(since, every.value()) : since) < lasts.value();
}

PerSecond ArrivalLaw::rate_at(Seconds time) const {
  PerSecond result = rate * relative(day, phase(time.value(), day_s) / day_s) *
                     relative(week, phase(time.value(), week_s) / week_s);
  for (const ArrivalPeak& peak : peaks)
    if (peak.holds(time)) result *= peak.factor;
  return result;
}

PerSecond ArrivalLaw::highest_rate() const {
  PerSecond result = rate * highest(day) * highest(week);
  for (const ArrivalPeak& peak : peaks) result *= std::max(1.0, peak.factor);
  return result;
}

PerSecond ArrivalLaw::mean_rate(Seconds horizon) const {
  if (is_poisson()) return rate;
  if (every > Seconds{}) return 1.0 / every;
  const auto within = std::count_if(listed.begin(), listed.end(),
                                    [&](const ListedJob& job) { return job.submit < horizon; });
  return static_cast<double>(within) / horizon;
}

}  // namespace foretrain
