// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "models/base/names.hpp"
#include "models/base/quantity.hpp"

namespace foretrain {

/// What a value measures; how people read it follows from it, and what units a limit on it may
/// have.
enum class Measure {
  text,
  flag,
  whole,  ///< a number of a stage or rank, a year
  count,  ///< any number, also below zero
  tokens,
  seconds,   ///< of a step
  duration,  ///< of a run
  bytes,
  flop,
  flop_rate,
  tflop_rate,
  token_rate,
  token_rate_per_gpu,
  share,  ///< 0 to 1
  dollars,
  kwh,
  kilograms,
  watts,
  small_watts,  ///< of one GPU
  watts_per_second
};

struct ValueMember;
/// A value of an answer, as programs read it. Nothing: unknown. Members of an object keep their
/// order.
struct Value : std::variant<std::monostate, bool, double, std::string, std::vector<Value>,
                            std::vector<ValueMember>> {
  using variant::variant;
  [[nodiscard]] bool known() const { return index() != 0; }
};
struct ValueMember {
  std::string key;
  Value value;
};

struct ValueRows;

/// What values of a row are made of, for its schema.
struct ValueShape {
  enum class Kind { any, text, flag, whole, number, object };
  Kind kind = Kind::any;
  int optionals = 0;  ///< how many things may be absent on the way to it
  bool list = false;
  bool map = false;                       ///< an object with any keys
  const ValueRows* parts = nullptr;       ///< of objects
  std::vector<std::string_view> names{};  ///< that a text may be; empty: any
};

namespace internal {

template <class T>
concept Strong = requires(const T& strong) {
  { strong.value() } -> std::same_as<double>;
};
template <class T>
concept Named = requires {
  EnumNames<T>::names;
};
template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
concept Map = requires {
  typename T::mapped_type;
}
|| requires {
  requires std::same_as<typename T::value_type,
                        std::pair<std::string, typename T::value_type::second_type>>;
};

}  // namespace internal

/// Numbers that are not finite are unknown.
template <class T>
[[nodiscard]] Value value_of(const T& from) {
  if constexpr (std::is_same_v<T, Value>) {
    return from;
  } else if constexpr (std::is_same_v<T, bool>) {
    return Value{from};
  } else if constexpr (std::is_arithmetic_v<T>) {
    const auto number = static_cast<double>(from);
    return std::isfinite(number) ? Value{number} : Value{};
  } else if constexpr (internal::Strong<T>) {
    return value_of(from.value());
  } else if constexpr (internal::Named<T>) {
    return Value{std::string(name_of(from))};
  } else if constexpr (internal::IsOptional<T>::value) {
    return from ? value_of(*from) : Value{};
  } else if constexpr (std::is_convertible_v<T, std::string_view>) {
    return Value{std::string(std::string_view(from))};
  } else if constexpr (internal::Map<T>) {
    std::vector<ValueMember> members;
    for (const auto& [key, value] : from) members.push_back({std::string(key), value_of(value)});
    return Value{std::move(members)};
  } else {
    std::vector<Value> list;
    for (const auto& value : from) list.push_back(value_of(value));
    return Value{std::move(list)};
  }
}

/// Nothing for an empty text.
[[nodiscard]] inline std::optional<std::string> if_any(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

namespace internal {

template <class T>
struct Element {
  using type = void;
};
template <Map T>
struct Element<T> {
  using type = std::remove_cvref_t<decltype(std::declval<T>().begin()->second)>;
};
template <class T>
requires(!Map<T> && !std::is_convertible_v<T, std::string_view> &&
         requires(const T& list) { list.begin(); }) struct Element<T> {
  using type = std::remove_cvref_t<decltype(*std::declval<T>().begin())>;
};

}  // namespace internal

template <class T>
[[nodiscard]] constexpr ValueShape::Kind kind_of() {
  using enum ValueShape::Kind;
  if constexpr (std::is_same_v<T, Value>) {
    return any;
  } else if constexpr (std::is_same_v<T, bool>) {
    return flag;
  } else if constexpr (std::is_integral_v<T>) {
    return whole;
  } else if constexpr (std::is_floating_point_v<T> || internal::Strong<T>) {
    return number;
  } else if constexpr (internal::IsOptional<T>::value) {
    return kind_of<typename T::value_type>();
  } else if constexpr (std::is_void_v<typename internal::Element<T>::type>) {
    return text;
  } else {
    return kind_of<typename internal::Element<T>::type>();
  }
}

template <class T>
[[nodiscard]] ValueShape shape_of() {
  if constexpr (internal::IsOptional<T>::value) {
    ValueShape shape = shape_of<typename T::value_type>();
    ++shape.optionals;
    return shape;
  } else if constexpr (internal::Named<T>) {
    return {ValueShape::Kind::text, 0, false, false, nullptr, all_names<T>()};
  } else if constexpr (std::is_same_v<T, Value> ||
                       std::is_void_v<typename internal::Element<T>::type>) {
    return {kind_of<T>()};
  } else {
    ValueShape shape = shape_of<typename internal::Element<T>::type>();
    (internal::Map<T> ? shape.map : shape.list) = true;
    return shape;
  }
}

template <class T>
[[nodiscard]] constexpr Measure measure_of_type() {
  if constexpr (std::is_same_v<T, Seconds>) {
    return Measure::seconds;
  } else if constexpr (std::is_same_v<T, Bytes>) {
    return Measure::bytes;
  } else if constexpr (std::is_same_v<T, Dollars>) {
    return Measure::dollars;
  } else if constexpr (internal::IsOptional<T>::value) {
    return measure_of_type<typename T::value_type>();
  } else {
    const ValueShape::Kind kind = kind_of<T>();
    if (kind == ValueShape::Kind::flag) return Measure::flag;
    return kind == ValueShape::Kind::text || kind == ValueShape::Kind::any ? Measure::text
                                                                           : Measure::count;
  }
}

/// Reads something of an object whose type the table knows: what std::function is, without its
/// cost, of small callables that can be copied as bytes.
template <class Result>
class Reader {
 public:
  Reader() = default;
  /// @tparam T the object's type
  template <class T, class Get>
  [[nodiscard]] static Reader of(Get get) {
    static_assert(std::is_trivially_copyable_v<Get> && sizeof(Get) <= sizeof(self_));
    Reader reader;
    std::memcpy(reader.self_.data(), &get, sizeof(Get));
    reader.call_ = [](const void* self, const void* object, std::size_t index) -> Result {
      const Get& held = *static_cast<const Get*>(self);
      const T& from = *static_cast<const T*>(object);
      if constexpr (std::is_invocable_v<Get, const T&, std::size_t>)
        return held(from, index);
      else
        return held(from);
    };
    return reader;
  }

  /// @pre object is of the table's type, and there is something to call
  Result operator()(const void* object, std::size_t index = 0) const {
    return call_(self_.data(), object, index);
  }
  explicit operator bool() const { return call_ != nullptr; }

 private:
  alignas(std::max_align_t) std::array<std::byte, 48> self_{};
  Result (*call_)(const void* self, const void* object, std::size_t index) = nullptr;
};

}  // namespace foretrain
