// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "models/base/quantity.hpp"

namespace foretrain {

/// Random numbers that are the same on every machine: splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_{seed} {}

  std::uint64_t bits() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }
  /// Above 0, at most 1.
  double uniform() { return (static_cast<double>(bits() >> 11) + 1.0) * 0x1p-53; }
  /// In seconds.
  double exponential(Seconds mean) { return -mean.value() * std::log(uniform()); }
  /// Standard normal (Box and Muller, 1958).
  double normal() {
    const double radius = std::sqrt(-2.0 * std::log(uniform()));
    return radius * std::cos(2.0 * 3.14159265358979323846 * uniform());
  }
  /// Gamma with mean 1 and that shape (Marsaglia and Tsang, ACM TOMS 26(3), 2000). @pre shape > 0
  double unit_gamma(double shape) {
    if (shape < 1.0)
      return unit_gamma(shape + 1.0) * (shape + 1.0) / shape * std::pow(uniform(), 1.0 / shape);
    const double d = shape - 1.0 / 3.0;
    const double c = 1.0 / std::sqrt(9.0 * d);
    while (true) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3.0);
      if (v <= 0.0) continue;
      if (std::log(uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v / shape;
    }
  }
  /// 0 .. count - 1. @pre count >= 1
  std::size_t below(std::size_t count) { return static_cast<std::size_t>(bits() % count); }

 private:
  std::uint64_t state_;
};

}  // namespace foretrain
