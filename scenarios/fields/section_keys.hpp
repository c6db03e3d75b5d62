// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenarios/fields/field_binding.hpp"

namespace foretrain {

/// A key of a section of scenarios with the struct member that it sets: the one row that the
/// reader, the checks, the writer of scenarios, the JSON Schema, the reference page and completion
/// use.
template <class T>
struct SectionKey {
  Field field;
  std::function<void(T&, const FieldValue&)> read{};  ///< empty: nothing is set (the group itself)
  /// As a file would say it; empty: as where the key is left out. No function: never written.
  std::function<std::string(const T&)> write{};
};

namespace section {

template <class V>
struct IsOptional : std::false_type {};
template <class V>
struct IsOptional<std::optional<V>> : std::true_type {};

template <class V>
std::string written(const V& value, const Field& field) {
  if constexpr (IsOptional<V>::value) {
    return value ? binding::text_of(*value, field) : std::string();
  } else if constexpr (std::is_same_v<V, std::vector<int>>) {
    std::string text;
    for (const int number : value) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "[" + text + "]";
  } else {
    return binding::text_of(value, field);
  }
}

/// A key that is left out where the member is as T{} has it.
template <class T, class V>
SectionKey<T> left_out(Field field, V T::*member) {
  if constexpr (std::is_same_v<V, std::vector<int>>)
    field.kind = FieldKind::integer_list;
  else if constexpr (IsOptional<V>::value)
    field = binding::typed<typename V::value_type>(std::move(field));
  else
    field = binding::typed<V>(std::move(field));
  SectionKey<T> key{std::move(field)};
  key.read = [member](T& target, const FieldValue& value) {
    if constexpr (std::is_same_v<V, std::vector<int>>)
      target.*member = value.integers;
    else if constexpr (IsOptional<V>::value)
      binding::assign((target.*member).emplace(), value);
    else
      binding::assign(target.*member, value);
  };
  key.write = [member, typed = key.field](const T& value) {
    return value.*member == T{}.*member ? std::string() : written(value.*member, typed);
  };
  return key;
}

/// The same of a key whose default, that of T{}, means something by itself and is documented.
template <class T, class V>
SectionKey<T> with_default(Field field, V T::*member) {
  SectionKey<T> key = left_out(std::move(field), member);
  key.field.default_text = written(T{}.*member, key.field);
  return key;
}

/// A key that files say even where it is the default, or that has none.
template <class T, class V>
SectionKey<T> always(Field field, V T::*member) {
  const bool required = field.required;
  SectionKey<T> key =
      required ? left_out(std::move(field), member) : with_default(std::move(field), member);
  key.write = [member, typed = key.field](const T& value) { return written(value.*member, typed); };
  return key;
}

template <class T>
std::vector<SectionKey<T>> joined(std::vector<std::vector<SectionKey<T>>> parts) {
  std::vector<SectionKey<T>> all;
  for (auto& part : parts)
    for (SectionKey<T>& key : part) all.push_back(std::move(key));
  return all;
}

}  // namespace section

/// A section of scenarios and the struct that it becomes.
template <class T>
class SectionTable {
 public:
  /// @param keys the section's own group, then its keys, groups before theirs
  explicit SectionTable(std::vector<SectionKey<T>> keys) : keys_{std::move(keys)} {}

  [[nodiscard]] std::vector<Field> fields() const {
    std::vector<Field> fields;
    for (const SectionKey<T>& key : keys_) fields.push_back(key.field);
    return fields;
  }

  /// What the section says; members of keys that are absent or refused stay as T{} has them.
  [[nodiscard]] T read(const FieldValues& values) const {
    T target;
    for (const SectionKey<T>& key : keys_)
      if (const FieldValue* const value = key.read ? values.find(key.field.path) : nullptr)
        key.read(target, *value);
    return target;
  }

  /// The section as a file says it: what differs from T{}, groups in it on one line; empty where
  /// nothing does.
  [[nodiscard]] std::string text(const T& value) const {
    const std::string& section = keys_.front().field.path;
    std::string lines;
    for (const SectionKey<T>& key : keys_) {
      if (&key == &keys_.front() || parent(key) != section) continue;
      const std::string said = key.field.kind == FieldKind::group ? inner_text(key, value)
                               : key.write                        ? key.write(value)
                                                                  : std::string();
      if (!said.empty())
        lines += "  " + std::string(leaf_name(key.field.path)) + ": " + said + "\n";
    }
    return lines.empty() ? lines : section + ":\n" + lines;
  }

 private:
  [[nodiscard]] static std::string_view parent(const SectionKey<T>& key) {
    const std::string_view path = key.field.path;
    return path.substr(0, path.rfind('.'));
  }

  /// "{key: value, ...}" of the keys of a group.
  [[nodiscard]] std::string inner_text(const SectionKey<T>& group, const T& value) const {
    std::string text;
    for (const SectionKey<T>& key : keys_) {
      if (parent(key) != group.field.path || !key.write) continue;
      if (const std::string said = key.write(value); !said.empty())
        text += (text.empty() ? "" : ", ") + std::string(leaf_name(key.field.path)) + ": " + said;
    }
    return text.empty() ? text : "{" + text + "}";
  }

  std::vector<SectionKey<T>> keys_;
};

}  // namespace foretrain
