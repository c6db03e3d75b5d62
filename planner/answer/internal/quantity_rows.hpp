// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "planner/answer/quantity.hpp"

namespace foretrain::internal {

inline QuantityValue value_of(double number) {
  return std::isfinite(number) ? QuantityValue{number} : QuantityValue{};
}
inline QuantityValue value_of(int number) { return static_cast<double>(number); }
inline QuantityValue value_of(const std::string& text) { return text; }
template <class Strong>
requires requires(Strong strong) { strong.value(); }
QuantityValue value_of(Strong strong) { return value_of(strong.value()); }
template <class T>
QuantityValue value_of(const std::optional<T>& value) {
  return value ? value_of(*value) : QuantityValue{};
}

template <class T>
struct Holder {
  static constexpr bool optional = false;
  static constexpr bool list = false;
};
template <class T>
struct Holder<std::optional<T>> {
  static constexpr bool optional = true;
  static constexpr bool list = false;
};
template <class T>
struct Holder<std::vector<T>> {
  static constexpr bool optional = false;
  static constexpr bool list = true;
};

template <class T>
QuantityValue follow(const T& from, std::size_t) {
  return value_of(from);
}
/// Member after member; nothing where something optional is absent or a list is shorter.
template <auto member, auto... rest, class T>
QuantityValue follow(const T& from, std::size_t index) {
  if constexpr (Holder<T>::optional)
    return from ? follow<member, rest...>(*from, index) : QuantityValue{};
  else if constexpr (Holder<T>::list)
    return index < from.size() ? follow<member, rest...>(from[index], index) : QuantityValue{};
  else
    return follow<rest...>(from.*member, index);
}

/// The value behind these members of a forecast: at<&Prediction::step, &StepForecast::time>.
template <auto... members>
QuantityValue at(const Prediction& prediction, std::size_t index) {
  return follow<members...>(prediction, index);
}

[[nodiscard]] std::vector<ForecastQuantity> memory_quantities();
[[nodiscard]] std::vector<ForecastQuantity> step_quantities(std::span<const StepPart> parts);
[[nodiscard]] std::vector<ForecastQuantity> efficiency_quantities();
[[nodiscard]] std::vector<ForecastQuantity> run_quantities();
[[nodiscard]] std::vector<ForecastQuantity> cost_quantities();
[[nodiscard]] std::vector<ForecastQuantity> power_quantities();

}  // namespace foretrain::internal
