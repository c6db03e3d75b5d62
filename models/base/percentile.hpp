// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
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

/// The inverse of the normal distribution; Acklam's rational approximation, within 2e-9 after one
/// step of Halley's method.
[[nodiscard]] inline double normal_quantile(double share) {
  constexpr std::array a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                         1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array b{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                         6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  constexpr std::array c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                         -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                         3.754408661907416e+00, 1.0};
  const auto polynomial = [](const auto& terms, double x) {
    double sum = 0.0;
    for (const double term : terms) sum = sum * x + term;
    return sum;
  };
  constexpr double low = 0.02425;
  const double tail = std::min(share, 1.0 - share);
  double x = 0.0;
  if (tail < low) {
    const double q = std::sqrt(-2.0 * std::log(tail));
    x = polynomial(c, q) / polynomial(d, q);
    if (share > 0.5) x = -x;
  } else {
    const double q = share - 0.5;
    x = q * polynomial(a, q * q) / polynomial(b, q * q);
  }
  const double error = 0.5 * std::erfc(-x / std::sqrt(2.0)) - share;
  const double step = error * std::sqrt(2.0 * 3.141592653589793) * std::exp(x * x / 2.0);
  return x - step / (1.0 + x * step / 2.0);
}

/// Blom's approximation of where the largest of `count` draws of a distribution lies: the share of
/// draws below it. @pre count >= 1
[[nodiscard]] inline double largest_share(double count) {
  constexpr double blom = 0.375;
  return (count - blom) / (count + 1.0 - 2.0 * blom);
}

}  // namespace foretrain
