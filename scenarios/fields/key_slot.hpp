// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/base/enum_set.hpp"
#include "models/base/quantity.hpp"
#include "models/base/require.hpp"
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

/// A default-made T, the same one for all callers.
template <class T>
const T& default_made() {
  static const T made{};
  return made;
}

/// The way into a part that an owner may lack: a group behind std::optional, an entry of a map.
struct SlotStep {
  void* (*make)(void* part, int entry);              ///< made where it is absent
  const void* (*find)(const void* part, int entry);  ///< null where it is absent
};

/// Where the value of a key lies in the struct that a file becomes, as plain data.
struct KeySlot {
  const void* owner = nullptr;     ///< default_made<T>() of the owner's type, by which it is known
  std::size_t offset = 0;          ///< from the owner to the value, or to what has the step
  const SlotStep* step = nullptr;  ///< null: none
  int entry = 0;                   ///< of a map
  std::size_t inner = 0;           ///< from where the step leads to the value
  const void* usual = nullptr;     ///< the value of a default-made owner, or of a part made anew
  const ValueOps* ops = nullptr;   ///< null: no value (groups, lists, names to look up)

  /// The value in `target`, whose part is made where it is absent.
  [[nodiscard]] void* make(void* target) const;
  /// The value in `target`; null where its part is absent.
  [[nodiscard]] const void* find(const void* target) const;
  [[nodiscard]] void* find(void* target) const;
};

namespace key_slot {

/// How far a path of members has been followed.
struct Walk {
  KeySlot slot;
  const void* base;  ///< the owner, or the part behind the step

  void arrive(const void* value) {
    const auto distance = static_cast<std::size_t>(static_cast<const std::byte*>(value) -
                                                   static_cast<const std::byte*>(base));
    (slot.step == nullptr ? slot.offset : slot.inner) = distance;
  }
  /// @pre no step before: a slot has one
  void take(const void* part, const SlotStep& step, int entry, const void* behind) {
    FORETRAIN_REQUIRE(slot.step == nullptr);
    arrive(part);
    slot.step = &step;
    slot.entry = entry;
    base = behind;
  }
};

/// The step into a part of this type; there is none into others.
template <class Part>
struct Step;

template <class G>
struct Step<std::optional<G>> {
  using Behind = G;
  static constexpr SlotStep slot{[](void* part, int) -> void* {
                                   auto& group = *static_cast<std::optional<G>*>(part);
                                   return group ? &*group : &group.emplace();
                                 },
                                 [](const void* part, int) -> const void* {
                                   const auto& group = *static_cast<const std::optional<G>*>(part);
                                   return group ? &*group : nullptr;
                                 }};
};

template <class K, class V>
struct Step<std::map<K, V>> {
  using Behind = V;
  static constexpr SlotStep slot{
      [](void* part, int entry) -> void* {
        return &(*static_cast<std::map<K, V>*>(part))[static_cast<K>(entry)];
      },
      [](const void* part, int entry) -> const void* {
        const auto& entries = *static_cast<const std::map<K, V>*>(part);
        const auto found = entries.find(static_cast<K>(entry));
        return found == entries.end() ? nullptr : &found->second;
      }};
};

template <class V>
const V& follow(Walk&, const V& at) {
  return at;
}

/// What lies at the end of a path of members, members of what an optional holds, indices of arrays
/// and entries of maps.
template <class Part, class First, class... Rest>
const auto& follow(Walk& walk, const Part& at, First first, Rest... rest) {
  if constexpr (!requires { typename Step<Part>::Behind; }) {
    if constexpr (std::is_member_object_pointer_v<First>)
      return follow(walk, at.*first, rest...);
    else
      return follow(walk, at[first], rest...);
  } else {
    const auto& behind = default_made<typename Step<Part>::Behind>();
    if constexpr (std::is_enum_v<First>) {
      walk.take(&at, Step<Part>::slot, static_cast<int>(first), &behind);
      return follow(walk, behind, rest...);
    } else {
      walk.take(&at, Step<Part>::slot, 0, &behind);
      return follow(walk, behind, first, rest...);
    }
  }
}

template <class T, class... Path>
auto slot_and_value(Path... path) {
  Walk walk{{.owner = &default_made<T>()}, &default_made<T>()};
  const auto& value = follow(walk, default_made<T>(), path...);
  walk.arrive(&value);
  walk.slot.usual = &value;
  return std::pair(walk.slot, &value);
}

}  // namespace key_slot

/// The slot at the end of a path: members, indices of arrays, entries of maps, and members of what
/// an optional holds.
template <class T, class... Path>
KeySlot slot_of(Path... path) {
  auto [slot, value] = key_slot::slot_and_value<T>(path...);
  slot.ops = &value_ops<std::remove_cvref_t<decltype(*value)>>;
  return slot;
}

}  // namespace foretrain
