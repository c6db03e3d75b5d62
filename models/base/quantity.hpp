// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <compare>
#include <limits>

namespace foretrain {

/// A number with a physical dimension: seconds^T * bytes^B * flop^F * joules^J * dollars^D.
/// The stored value is in those base units, so `a.value()` of a bandwidth is bytes per second.
/// Adding unlike dimensions, or returning one where another is expected, does not compile.
/// Doubles are exact for whole bytes and flop below 2^53.
template <int T, int B = 0, int F = 0, int J = 0, int D = 0>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double base_units) : value_{base_units} {}

  [[nodiscard]] constexpr double value() const { return value_; }
  /// This quantity as a multiple of `unit`, e.g. `time.in(ms)`.
  [[nodiscard]] constexpr double in(Quantity unit) const { return value_ / unit.value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  constexpr Quantity& operator*=(double factor) {
    value_ *= factor;
    return *this;
  }
  constexpr Quantity& operator/=(double divisor) {
    value_ /= divisor;
    return *this;
  }

  friend constexpr auto operator<=>(Quantity, Quantity) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr Quantity operator-(Quantity a) { return Quantity{-a.value_}; }
  friend constexpr Quantity operator*(Quantity a, double factor) { return a *= factor; }
  friend constexpr Quantity operator*(double factor, Quantity a) { return a *= factor; }
  friend constexpr Quantity operator/(Quantity a, double divisor) { return a /= divisor; }

 private:
  double value_ = 0.0;
};

/// Product of two quantities; the exponents add.
template <int T1, int B1, int F1, int J1, int D1, int T2, int B2, int F2, int J2, int D2>
constexpr auto operator*(Quantity<T1, B1, F1, J1, D1> a, Quantity<T2, B2, F2, J2, D2> b) {
  constexpr bool plain =
      T1 + T2 == 0 && B1 + B2 == 0 && F1 + F2 == 0 && J1 + J2 == 0 && D1 + D2 == 0;
  if constexpr (plain) {
    return a.value() * b.value();
  } else {
    return Quantity<T1 + T2, B1 + B2, F1 + F2, J1 + J2, D1 + D2>{a.value() * b.value()};
  }
}

/// Quotient of two quantities; like dimensions give a plain number.
template <int T1, int B1, int F1, int J1, int D1, int T2, int B2, int F2, int J2, int D2>
constexpr auto operator/(Quantity<T1, B1, F1, J1, D1> a, Quantity<T2, B2, F2, J2, D2> b) {
  constexpr bool plain = T1 == T2 && B1 == B2 && F1 == F2 && J1 == J2 && D1 == D2;
  if constexpr (plain) {
    return a.value() / b.value();
  } else {
    return Quantity<T1 - T2, B1 - B2, F1 - F2, J1 - J2, D1 - D2>{a.value() / b.value()};
  }
}

template <int T, int B, int F, int J, int D>
constexpr auto operator/(double a, Quantity<T, B, F, J, D> b) {
  return Quantity<-T, -B, -F, -J, -D>{a / b.value()};
}

template <int T, int B, int F, int J, int D>
[[nodiscard]] bool is_finite(Quantity<T, B, F, J, D> q) {
  return std::isfinite(q.value());
}

using Seconds = Quantity<1>;
using Bytes = Quantity<0, 1>;
using Flop = Quantity<0, 0, 1>;
using Joules = Quantity<0, 0, 0, 1>;
using Dollars = Quantity<0, 0, 0, 0, 1>;
using BytesPerSecond = Quantity<-1, 1>;
using FlopPerSecond = Quantity<-1, 0, 1>;
using Watts = Quantity<-1, 0, 0, 1>;
using WattsPerSecond = Quantity<-2, 0, 0, 1>;
using DollarsPerSecond = Quantity<-1, 0, 0, 0, 1>;

// Units. Bits exist only here: 1 Gbps is 1e9 bit/s = 1.25e8 byte/s.
inline constexpr Seconds ms{1e-3};
inline constexpr Seconds us{1e-6};
inline constexpr Seconds minutes{60.0};
inline constexpr Seconds hours{3600.0};
inline constexpr Seconds days{86400.0};
inline constexpr Bytes KiB{1024.0};
inline constexpr Bytes MiB{1048576.0};
inline constexpr Bytes GiB{1073741824.0};
inline constexpr Bytes MB{1e6};
inline constexpr Bytes GB{1e9};
inline constexpr Bytes TB{1e12};
inline constexpr BytesPerSecond GBps{1e9};
inline constexpr BytesPerSecond TBps{1e12};
inline constexpr BytesPerSecond Gbps{1.25e8};
inline constexpr FlopPerSecond TFLOPS{1e12};
inline constexpr Joules kWh{3.6e6};

template <int T, int B, int F, int J, int D>
constexpr Quantity<T, B, F, J, D> max(Quantity<T, B, F, J, D> a, Quantity<T, B, F, J, D> b) {
  return a < b ? b : a;
}
template <int T, int B, int F, int J, int D>
constexpr Quantity<T, B, F, J, D> min(Quantity<T, B, F, J, D> a, Quantity<T, B, F, J, D> b) {
  return b < a ? b : a;
}

}  // namespace foretrain
