// SPDX-License-Identifier: Apache-2.0
#include "planner/search/bisection.hpp"

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"

namespace foretrain {

std::int64_t largest_good(std::int64_t most, const std::function<bool(std::int64_t)>& good) {
  if (most < 1 || !good(1)) return 0;
  std::int64_t low = 1;
  std::int64_t high = 2;
  while (high <= most && good(high)) {
    low = high;
    high *= 2;
  }
  high = std::min(high, most + 1);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (good(middle) ? low : high) = middle;
  }
  return low;
}

std::optional<double> least_good(double low, double high, double resolution,
                                 const std::function<bool(double)>& good) {
  FORETRAIN_REQUIRE(0.0 < low && low < high && resolution > 0.0);
  if (!good(high)) return std::nullopt;
  if (good(low)) return low;
  while (high / low > 1.0 + resolution) {
    const double middle = std::sqrt(low * high);
    (good(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace foretrain
