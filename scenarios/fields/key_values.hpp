// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "models/base/enum_set.hpp"
#include "models/base/quantity.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// How a V is read and written as the value of a key: the kind that its keys have unless they say
/// another, the value that a file gives, and the text that a file would have.
template <class V>
struct KeyValue;

template <>
struct KeyValue<bool> {
  static constexpr FieldKind kind = FieldKind::boolean;
  static bool read(const FieldValue& value) { return value.boolean; }
  static std::string text(bool value, const Field&) { return value ? "true" : "false"; }
};

template <>
struct KeyValue<std::string> {
  static constexpr FieldKind kind = FieldKind::text;
  static std::string read(const FieldValue& value) { return value.text; }
  static std::string text(const std::string& value, const Field&);
};

template <>
struct KeyValue<std::vector<int>> {
  static constexpr FieldKind kind = FieldKind::integer_list;
  static std::vector<int> read(const FieldValue& value) { return value.integers; }
  static std::string text(const std::vector<int>& value, const Field&);
};

/// A quantity where the field says so, in base units.
template <>
struct KeyValue<double> {
  static constexpr FieldKind kind = FieldKind::number;
  static double read(const FieldValue& value) { return value.number; }
  static std::string text(double value, const Field& field);
  static double base_units(double value) { return value; }
};

template <std::integral V>
struct KeyValue<V> {
  static constexpr FieldKind kind = FieldKind::integer;
  static V read(const FieldValue& value) { return static_cast<V>(value.number); }
  static std::string text(V value, const Field&) { return std::to_string(value); }
};

template <class Q>
constexpr Dimension quantity_dimension() {
  if constexpr (std::is_same_v<Q, Seconds>) return Dimension::time;
  if constexpr (std::is_same_v<Q, Bytes>) return Dimension::bytes;
  if constexpr (std::is_same_v<Q, BytesPerSecond>) return Dimension::bandwidth;
  if constexpr (std::is_same_v<Q, FlopPerSecond>) return Dimension::flop_rate;
  if constexpr (std::is_same_v<Q, Watts>) return Dimension::power;
  return Dimension::none;
}

template <int... Exponents>
struct KeyValue<Quantity<Exponents...>> {
  using Value = Quantity<Exponents...>;
  static constexpr FieldKind kind = FieldKind::quantity;
  static constexpr Dimension dimension = quantity_dimension<Value>();
  static Value read(const FieldValue& value) { return Value{value.number}; }
  static std::string text(Value value, const Field& field) {
    return KeyValue<double>::text(value.value(), field);
  }
  static double base_units(Value value) { return value.value(); }
};

template <class E>
requires std::is_enum_v<E>
struct KeyValue<E> {
  static constexpr FieldKind kind = FieldKind::choice;
  static std::vector<std::string> choices() { return choices_of<E>(); }
  static E read(const FieldValue& value) { return *from_name<E>(value.text); }
  static std::string text(E value, const Field&) { return std::string(name_of(value)); }
};

/// "[a, b]".
[[nodiscard]] std::string flow_list(const std::vector<std::string>& names);

/// A set of values of an enumeration, in the order in which that names them.
template <class Set, class E>
struct NamedSet {
  static constexpr FieldKind kind = FieldKind::choice_list;
  static std::vector<std::string> choices() { return choices_of<E>(); }
  static Set read(const FieldValue& value) {
    Set set;
    for (const std::string& name : value.texts)
      if (const auto one = from_name<E>(name)) set.add(*one);
    return set;
  }
  static std::string text(const Set& set, const Field&) {
    std::vector<std::string> names;
    for (const auto& [value, name] : EnumNames<E>::names)
      if (set.has(value)) names.emplace_back(name);
    return flow_list(names);
  }
};

template <class E>
struct KeyValue<EnumSet<E>> : NamedSet<EnumSet<E>, E> {};

/// Absent where the key is left out.
template <class V>
struct KeyValue<std::optional<V>> : KeyValue<V> {
  static std::optional<V> read(const FieldValue& value) { return KeyValue<V>::read(value); }
  static std::string text(const std::optional<V>& value, const Field& field) {
    return value ? KeyValue<V>::text(*value, field) : std::string();
  }
};

/// KeyValue<V> as plain data: what rows of keys point to. Pointers are to a V.
struct ValueOps {
  FieldKind kind = FieldKind::text;
  Dimension dimension = Dimension::none;
  std::vector<std::string> (*choices)() = nullptr;
  void (*assign)(void*, const FieldValue&) = nullptr;        ///< null: files do not set it
  std::string (*text)(const void*, const Field&) = nullptr;  ///< empty: as where it is left out
  bool (*same)(const void*, const void*) = nullptr;
  double (*number)(const void*) = nullptr;  ///< in base units; null: no real number
  void (*set_number)(void*, double) = nullptr;
};

template <class V, class Rules = KeyValue<V>>
constexpr ValueOps make_value_ops() {
  ValueOps ops{.kind = Rules::kind};
  if constexpr (requires { Rules::dimension; }) ops.dimension = Rules::dimension;
  if constexpr (requires { Rules::choices; }) ops.choices = Rules::choices;
  ops.assign = [](void* at, const FieldValue& value) { *static_cast<V*>(at) = Rules::read(value); };
  ops.text = [](const void* at, const Field& field) {
    return Rules::text(*static_cast<const V*>(at), field);
  };
  ops.same = [](const void* a, const void* b) {
    return *static_cast<const V*>(a) == *static_cast<const V*>(b);
  };
  if constexpr (requires(const V& value) { Rules::base_units(value); }) {
    ops.number = [](const void* at) { return Rules::base_units(*static_cast<const V*>(at)); };
    ops.set_number = [](void* at, double number) { *static_cast<V*>(at) = V{number}; };
  }
  return ops;
}

template <class V>
inline constexpr ValueOps value_ops = make_value_ops<V>();

}  // namespace foretrain
