// SPDX-License-Identifier: Apache-2.0
#include "sim/queue/duration_law.hpp"

namespace foretrain {

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

}  // namespace foretrain
