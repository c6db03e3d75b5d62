// SPDX-License-Identifier: Apache-2.0
#include "planner/text/ticks.hpp"

#include <cmath>

#include "models/base/require.hpp"

namespace foretrain {

double round_step(double length, int most) {
  FORETRAIN_REQUIRE(length > 0.0 && most >= 1);
  const double least = length / most;
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least * (1.0 - 1e-9)) return factor * power;
  return 10.0 * power;
}

std::vector<double> round_ticks(double low, double high, int most) {
  FORETRAIN_REQUIRE(low < high);
  const double step = round_step(high - low, most);
  std::vector<double> ticks;
  const auto first = static_cast<long long>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<long long>(std::floor(high / step + 1e-9));
  for (long long at = first; at <= last; ++at) ticks.push_back(static_cast<double>(at) * step);
  return ticks;
}

}  // namespace foretrain
