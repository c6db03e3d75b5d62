// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/base/quantity.hpp"
#include "scenarios/fields/field_reader.hpp"
#include "scenarios/fields/field_table.hpp"

namespace foretrain {

/// A key of a catalog file together with the struct member that it sets.
template <class T>
struct Bound {
  Field field;
  std::function<void(T&, const FieldValue&)> set;  ///< empty: nothing is set (groups, sources)
  /// The group that has to be written for this key, and its default, to mean anything.
  std::string only_with{};
};

namespace binding {

template <class V>
constexpr Dimension dimension_of() {
  if constexpr (std::is_same_v<V, Seconds>) return Dimension::time;
  if constexpr (std::is_same_v<V, Bytes>) return Dimension::bytes;
  if constexpr (std::is_same_v<V, BytesPerSecond>) return Dimension::bandwidth;
  if constexpr (std::is_same_v<V, FlopPerSecond>) return Dimension::flop_rate;
  if constexpr (std::is_same_v<V, Watts>) return Dimension::power;
  return Dimension::none;
}

/// Fills in what the type of the member already says. A kind that was given stays.
template <class V>
Field typed(Field field) {
  if (field.kind != FieldKind::text) return field;
  if constexpr (std::is_same_v<V, bool>) {
    field.kind = FieldKind::boolean;
  } else if constexpr (std::is_integral_v<V>) {
    field.kind = FieldKind::integer;
  } else if constexpr (std::is_floating_point_v<V>) {
    field.kind = FieldKind::number;
  } else if constexpr (std::is_enum_v<V>) {
    field.kind = FieldKind::choice;
    field.choices = choices_of<V>();
  } else if constexpr (dimension_of<V>() != Dimension::none) {
    field.kind = FieldKind::quantity;
    field.dimension = dimension_of<V>();
  }
  return field;
}

template <class V>
void assign(V& target, const FieldValue& value) {
  if constexpr (std::is_same_v<V, bool>) {
    target = value.boolean;
  } else if constexpr (std::is_arithmetic_v<V>) {
    target = static_cast<V>(value.number);
  } else if constexpr (std::is_enum_v<V>) {
    target = *from_name<V>(value.text);
  } else if constexpr (std::is_same_v<V, std::string>) {
    target = value.text;
  } else {
    target = V{value.number};
  }
}

template <class V>
std::string text_of(const V& value, const Field& field) {
  if constexpr (std::is_same_v<V, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_integral_v<V>) {
    return std::to_string(value);
  } else if constexpr (std::is_floating_point_v<V>) {
    return field.kind == FieldKind::quantity ? format_quantity(value, field.dimension)
                                             : format_number(value);
  } else if constexpr (std::is_enum_v<V>) {
    return std::string(name_of(value));
  } else {
    return format_quantity(value.value(), field.dimension);
  }
}

}  // namespace binding

/// A key that sets no member: a group, or something the caller reads by itself.
template <class T>
Bound<T> unbound(Field field) {
  return {std::move(field), {}};
}

template <class T, class V>
Bound<T> bind(Field field, V T::*member) {
  return {binding::typed<V>(std::move(field)),
          [member](T& target, const FieldValue& value) { binding::assign(target.*member, value); }};
}

template <class T, class G, class V>
Bound<T> bind(Field field, G T::*group, V G::*member) {
  return {binding::typed<V>(std::move(field)), [group, member](T& target, const FieldValue& value) {
            binding::assign(target.*group.*member, value);
          }};
}

/// The same for a part that exists only when the group `only_with` is written.
template <class T, class G, class V>
Bound<T> bind_optional(Field field, std::optional<G> T::*group, V G::*member,
                       std::string only_with) {
  return {binding::typed<V>(std::move(field)),
          [group, member](T& target, const FieldValue& value) {
            if (!(target.*group)) (target.*group).emplace();
            binding::assign(*(target.*group).*member, value);
          },
          std::move(only_with)};
}

/// A constant that keeps the default of its struct when the file does not give it.
template <class T, class G, class V>
Bound<T> constant(const std::string& path, const std::string& help, G T::*group, V G::*member) {
  Bound<T> bound = bind<T, G, V>({.path = path, .help = help}, group, member);
  const T defaults{};
  if constexpr (!std::is_same_v<V, bool>) bound.field.min = 0.0;
  bound.field.default_text = binding::text_of(defaults.*group.*member, bound.field);
  bound.field.example = bound.field.default_text;
  return bound;
}

/// A file format and the struct that its files become.
template <class T>
class BoundTable {
 public:
  BoundTable(std::string title, std::vector<Bound<T>> keys)
      : keys_(std::move(keys)), fields_(std::move(title), fields_of(keys_)) {}

  [[nodiscard]] const FieldTable& fields() const { return fields_; }

  /// Whether a value, given or default, means anything in this file.
  [[nodiscard]] bool applies(const FieldValues& values, const FieldValue& value) const {
    for (const Bound<T>& key : keys_)
      if (key.field.path == value.field->path)
        return key.only_with.empty() || values.has_group(key.only_with);
    return true;
  }

  void fill(const FieldValues& values, T& target) const {
    for (const Bound<T>& key : keys_) {
      if (!key.set || (!key.only_with.empty() && !values.has_group(key.only_with))) continue;
      if (const FieldValue* value = values.find(key.field.path)) key.set(target, *value);
    }
  }

 private:
  static std::vector<Field> fields_of(const std::vector<Bound<T>>& keys) {
    std::vector<Field> fields;
    fields.reserve(keys.size());
    for (const Bound<T>& key : keys) fields.push_back(key.field);
    return fields;
  }

  std::vector<Bound<T>> keys_;
  FieldTable fields_;
};

/// The keys of all parts, in order.
template <class T>
std::vector<Bound<T>> joined_keys(std::vector<std::vector<Bound<T>>> parts) {
  std::vector<Bound<T>> all;
  for (auto& part : parts)
    for (auto& key : part) all.push_back(std::move(key));
  return all;
}

}  // namespace foretrain
