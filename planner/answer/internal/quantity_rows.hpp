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

template <class T>
struct Holder {
  static constexpr bool list = false;
  using Held = T;
};
template <class T>
struct Holder<std::vector<T>> {
  static constexpr bool list = true;
  using Held = T;
};

template <class T>
Value follow(const T& from, std::size_t) {
  return value_of(from);
}
/// Member after member; nothing where something optional is absent or a list is shorter.
template <auto member, auto... rest, class T>
Value follow(const T& from, std::size_t index) {
  if constexpr (IsOptional<T>::value)
    return from ? follow<member, rest...>(*from, index) : Value{};
  else if constexpr (Holder<T>::list)
    return index < from.size() ? follow<member, rest...>(from[index], index) : Value{};
  else
    return follow<rest...>(from.*member, index);
}

template <class T>
ValueShape shape_behind() {
  ValueShape shape = shape_of<T>();
  shape.list = false;  // the path has a "*" instead
  return shape;
}
/// What is at the end of these members, with the optional ones on the way.
template <class T, auto member, auto... rest>
ValueShape shape_behind() {
  if constexpr (IsOptional<T>::value) {
    ValueShape shape = shape_behind<typename T::value_type, member, rest...>();
    ++shape.optionals;
    return shape;
  } else if constexpr (Holder<T>::list) {
    return shape_behind<typename Holder<T>::Held, member, rest...>();
  } else {
    return shape_behind<std::remove_cvref_t<decltype(std::declval<T>().*member)>, rest...>();
  }
}

template <auto... members>
struct At {
  // A row says what it reads in one word.
  // NOLINTNEXTLINE(google-explicit-constructor)
  operator ValueReader() const {
    return {Reader<Value>::of<Prediction>(*this), shape_behind<Prediction, members...>()};
  }
  Value operator()(const Prediction& p, std::size_t index) const {
    return follow<members...>(p, index);
  }
};
/// The value behind these members of a forecast: at<&Prediction::step, &StepForecast::time>.
template <auto... members>
inline constexpr At<members...> at{};

[[nodiscard]] std::vector<ValueRow> memory_quantities();
[[nodiscard]] std::vector<ValueRow> step_quantities(std::span<const StepPart> parts);
[[nodiscard]] std::vector<ValueRow> efficiency_quantities();
[[nodiscard]] std::vector<ValueRow> run_quantities();
[[nodiscard]] std::vector<ValueRow> cost_quantities();
[[nodiscard]] std::vector<ValueRow> power_quantities();

}  // namespace foretrain::internal
