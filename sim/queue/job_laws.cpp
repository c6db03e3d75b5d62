// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/job_laws.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
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

double lognormal_within(const DurationLaw& law, Seconds time) {
  const double variance = std::log1p(law.variation * law.variation);
  const double from_median = std::log(time / law.typical) + 0.5 * variance;
  return 0.5 * std::erfc(-from_median / std::sqrt(2.0 * variance));
}

double gamma_within(const DurationLaw& law, Seconds time) {
  const double shape = 1.0 / (law.variation * law.variation);
  return boost::math::gamma_p(shape, shape * (time / law.typical));
}

double empirical_within(const DurationLaw& law, Seconds time) {
  const auto within =
      std::ranges::count_if(law.values, [time](Seconds value) { return value <= time; });
  return static_cast<double>(within) / static_cast<double>(law.values.size());
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
  const auto within =
      std::ranges::count_if(listed, [&](const ListedJob& job) { return job.submit < horizon; });
  return static_cast<double>(within) / horizon;
}

Seconds DurationLaw::mean() const {
  if (kind == DurationKind::uniform) return 0.5 * (least + most);
  if (kind != DurationKind::empirical) return typical;
  Seconds sum;
  for (const Seconds value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double DurationLaw::squared_variation() const {
  switch (kind) {
    case DurationKind::fixed:
      return 0.0;
    case DurationKind::exponential:
      return 1.0;
    case DurationKind::uniform: {
      const double width = (most - least) / mean();
      return width * width / 12.0;
    }
    case DurationKind::lognormal:
    case DurationKind::gamma:
      return variation * variation;
    case DurationKind::empirical:
      break;
  }
  double sum = 0.0;
  for (const Seconds value : values) {
    const double off = value / mean() - 1.0;
    sum += off * off;
  }
  return sum / static_cast<double>(values.size());
}

double DurationLaw::share_within(Seconds time) const {
  if (!(time > Seconds{})) return 0.0;
  switch (kind) {
    case DurationKind::fixed:
      return time >= typical ? 1.0 : 0.0;
    case DurationKind::exponential:
      return -std::expm1(-(time / typical));
    case DurationKind::uniform:
      if (most == least) return time >= most ? 1.0 : 0.0;
      return std::clamp((time - least) / (most - least), 0.0, 1.0);
    case DurationKind::lognormal:
      return lognormal_within(*this, time);
    case DurationKind::gamma:
      return gamma_within(*this, time);
    case DurationKind::empirical:
      break;
  }
  return empirical_within(*this, time);
}

}  // namespace foretrain
