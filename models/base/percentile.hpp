// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "models/base/require.hpp"

namespace foretrain {

/// The number that a share of all numbers lies below, linear between the two nearest ranks: the
/// median of two is their mean. Definition 7 of Hyndman and Fan, "Sample quantiles in statistical
/// packages" (1996). Reorders the numbers.
/// @pre numbers is not empty; 0 <= share <= 1
template <class Number>
[[nodiscard]] double percentile_of(std::vector<Number>& numbers, double share) {
  FORETRAIN_REQUIRE(!numbers.empty() && share >= 0.0 && share <= 1.0);
  const double place = share * static_cast<double>(numbers.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(place);
  const auto at = numbers.begin() + below;
  std::nth_element(numbers.begin(), at, numbers.end());
  const double low = *at;
  const double part = place - static_cast<double>(below);
  if (part == 0.0 || at + 1 == numbers.end()) return low;
  const double high = *std::min_element(at + 1, numbers.end());
  // Rounding must not lead out of what the two span.
  return std::clamp(low + part * (high - low), low, high);
}

template <class Number>
[[nodiscard]] double percentile_of(std::vector<Number>&& numbers, double share) {
  return percentile_of(numbers, share);
}

template <class Number>
[[nodiscard]] double median_of(std::vector<Number> numbers) {
  return percentile_of(numbers, 0.5);
}

}  // namespace foretrain
