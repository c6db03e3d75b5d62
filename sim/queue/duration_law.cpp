// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/duration_law.hpp"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <cmath>

namespace foretrain {
namespace {

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
  const auto within = std::count_if(law.values.begin(), law.values.end(),
                                    [time](Seconds value) { return value <= time; });
  return static_cast<double>(within) / static_cast<double>(law.values.size());
}

}  // namespace

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
