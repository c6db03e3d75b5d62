// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/base/enum_set.hpp"
#include "scenarios/fields/field_binding.hpp"
#include "scenarios/yaml/safe_text.hpp"

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
  /// Instead of `read` for a list of groups, whose elements' keys follow it.
  std::function<void(T&, const FieldValues&)> read_list{};
};

namespace section {

template <class V>
struct IsOptional : std::false_type {};
template <class V>
struct IsOptional<std::optional<V>> : std::true_type {};

template <class V>
std::string written(const V& value, const Field& field) {
  if constexpr (IsOptional<V>::value) {
    return value ? written(*value, field) : std::string();
  } else if constexpr (std::is_same_v<V, std::vector<int>>) {
    std::string text;
    for (const int number : value) text += (text.empty() ? "" : ", ") + std::to_string(number);
    return "[" + text + "]";
  } else if constexpr (std::is_same_v<V, std::string>) {
    return in_double_quotes(value);
  } else {
    return binding::text_of(value, field);
  }
}

/// The member at the end of a path of members.
template <class T, class V>
V& reach(T& target, V T::*member) {
  return target.*member;
}
template <class T, class V>
const V& reach(const T& target, V T::*member) {
  return target.*member;
}
template <class T, class G, class... Rest>
auto& reach(T& target, G T::*group, Rest... rest) {
  return reach(target.*group, rest...);
}
template <class T, class G, class... Rest>
const auto& reach(const T& target, G T::*group, Rest... rest) {
  return reach(target.*group, rest...);
}

template <class T, class... Members>
using Reached =
    std::remove_reference_t<decltype(reach(std::declval<T&>(), std::declval<Members>()...))>;

template <class V>
Field typed(Field field) {
  if constexpr (std::is_same_v<V, std::vector<int>>)
    field.kind = FieldKind::integer_list;
  else if constexpr (IsOptional<V>::value)
    field = binding::typed<typename V::value_type>(std::move(field));
  else
    field = binding::typed<V>(std::move(field));
  return field;
}

template <class V>
void assign(V& target, const FieldValue& value) {
  if constexpr (std::is_same_v<V, std::vector<int>>)
    target = value.integers;
  else if constexpr (IsOptional<V>::value)
    binding::assign(target.emplace(), value);
  else
    binding::assign(target, value);
}

/// A key that is left out where the member, at the end of a path of members, is as T{} has it.
template <class T, class V, class... Rest>
SectionKey<T> left_out(Field field, V T::*member, Rest... rest) {
  using Value = Reached<T, V T::*, Rest...>;
  SectionKey<T> key{typed<Value>(std::move(field))};
  key.read = [member, rest...](T& target, const FieldValue& value) {
    assign(reach(target, member, rest...), value);
  };
  key.write = [member, rest..., usual = Value(reach(T{}, member, rest...)),
               field = key.field](const T& value) {
    const Value& said = reach(value, member, rest...);
    return said == usual ? std::string() : written(said, field);
  };
  return key;
}

/// The same of a key whose default, that of T{}, means something by itself and is documented.
template <class T, class V, class... Rest>
SectionKey<T> with_default(Field field, V T::*member, Rest... rest) {
  SectionKey<T> key = left_out(std::move(field), member, rest...);
  key.field.default_text = written(reach(T{}, member, rest...), key.field);
  return key;
}

/// A key that files say even where it is the default, or that has none.
template <class T, class V, class... Rest>
SectionKey<T> always(Field field, V T::*member, Rest... rest) {
  const bool required = field.required;
  SectionKey<T> key = required ? left_out(std::move(field), member, rest...)
                               : with_default(std::move(field), member, rest...);
  key.write = [member, rest..., field = key.field](const T& value) {
    return written(reach(value, member, rest...), field);
  };
  return key;
}

/// A key that is written only of what `applies` to.
template <class T>
SectionKey<T> only_where(std::function<bool(const T&)> applies, SectionKey<T> key) {
  key.write = [applies = std::move(applies), write = std::move(key.write)](const T& value) {
    return applies(value) ? write(value) : std::string();
  };
  return key;
}

/// "[a, b]" in the order in which the enumeration names them.
template <class E>
std::string set_text(const EnumSet<E>& set) {
  std::string text;
  for (const auto& [value, name] : EnumNames<E>::names)
    if (set.has(value)) text += (text.empty() ? "" : ", ") + std::string(name);
  return "[" + text + "]";
}

/// A key that lists some values of an enumeration, for an EnumSet<E> at the end of a path of
/// members, or that where the key may be left out.
template <class E, class T, class V, class... Rest>
SectionKey<T> enum_set(Field field, V T::*member, Rest... rest) {
  using Set = Reached<T, V T::*, Rest...>;
  field.kind = FieldKind::choice_list;
  field.choices = choices_of<E>();
  SectionKey<T> key{std::move(field)};
  key.read = [member, rest...](T& target, const FieldValue& value) {
    EnumSet<E> set;
    for (const std::string& name : value.texts)
      if (const auto one = from_name<E>(name)) set.add(*one);
    reach(target, member, rest...) = set;
  };
  key.write = [member, rest..., usual = Set(reach(T{}, member, rest...))](const T& value) {
    const Set& said = reach(value, member, rest...);
    if (said == usual) return std::string();
    if constexpr (IsOptional<Set>::value)
      return set_text(*said);
    else
      return set_text(said);
  };
  return key;
}

template <class T>
SectionKey<T> group(const char* path, const char* help) {
  return {{.path = path, .kind = FieldKind::group, .help = help}};
}

/// What an element of a list is made of, and what no single key says of it.
template <class E>
struct Elements {
  std::vector<SectionKey<E>> keys;  ///< paths begin with that of the list and "[]."
  std::function<void(E&, const FieldValues&, const std::string& path)> finish{};
};

/// Nothing where a required key is absent or was refused, which is reported elsewhere.
template <class E>
std::optional<E> read_element(const Elements<E>& elements, const FieldValues& values,
                              const std::string& path) {
  E element;
  for (const SectionKey<E>& key : elements.keys) {
    const FieldValue* const value = values.find(child_path(path, leaf_name(key.field.path)));
    if (value == nullptr && key.field.required) return std::nullopt;
    if (value != nullptr && key.read) key.read(element, *value);
  }
  if (elements.finish) elements.finish(element, values, path);
  return element;
}

template <class E>
std::string element_text(const Elements<E>& elements, const E& element) {
  std::string text;
  for (const SectionKey<E>& key : elements.keys)
    if (const std::string said = key.write(element); !said.empty())
      text += (text.empty() ? "" : ", ") + std::string(leaf_name(key.field.path)) + ": " + said;
  return "{" + text + "}";
}

/// A list of groups: its own row, which reads and writes all elements, and the rows of their keys.
template <class E, class T, class V, class... Rest>
std::vector<SectionKey<T>> list_of(const char* path, const char* help, Elements<E> elements,
                                   V T::*member, Rest... rest) {
  std::vector<SectionKey<T>> rows{{{.path = path, .kind = FieldKind::list, .help = help}}};
  for (const SectionKey<E>& key : elements.keys) rows.push_back({key.field});
  SectionKey<T>& list = rows.front();
  list.write = [member, rest..., elements](const T& value) {
    std::string text;
    for (const E& element : reach(value, member, rest...))
      text += (text.empty() ? "[" : ", ") + element_text(elements, element);
    return text.empty() ? text : text + "]";
  };
  list.read_list = [member, rest..., elements, path](T& target, const FieldValues& values) {
    for (int i = 0; i < values.list_size(path); ++i)
      if (auto read = read_element(elements, values, path + ("[" + std::to_string(i) + "]")))
        reach(target, member, rest...).push_back(std::move(*read));
  };
  return rows;
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
    for (const SectionKey<T>& key : keys_) {
      if (key.read_list) key.read_list(target, values);
      if (const FieldValue* const value = key.read ? values.find(key.field.path) : nullptr)
        key.read(target, *value);
    }
    return target;
  }

  /// The section as a file says it: what differs from T{}, groups in it on one line; empty where
  /// nothing does.
  [[nodiscard]] std::string text(const T& value) const {
    const std::string& section = keys_.front().field.path;
    std::string lines;
    if (keys_.front().write) lines = keys_.front().write(value);
    if (!lines.empty()) return section + ": " + lines + "\n";
    for (const SectionKey<T>& key : keys_) {
      if (&key == &keys_.front() || parent(key) != section) continue;
      if (const std::string said = said_of(key, value); !said.empty())
        lines += "  " + std::string(leaf_name(key.field.path)) + ": " + said + "\n";
    }
    return lines.empty() ? lines : section + ":\n" + lines;
  }

 private:
  [[nodiscard]] static std::string_view parent(const SectionKey<T>& key) {
    const std::string_view path = key.field.path;
    return path.substr(0, path.rfind('.'));
  }

  [[nodiscard]] std::string said_of(const SectionKey<T>& key, const T& value) const {
    if (key.field.kind == FieldKind::group) return inner_text(key, value);
    return key.write ? key.write(value) : std::string();
  }

  /// "{key: value, ...}" of the keys of a group.
  [[nodiscard]] std::string inner_text(const SectionKey<T>& group, const T& value) const {
    std::string text;
    for (const SectionKey<T>& key : keys_) {
      if (parent(key) != group.field.path) continue;
      if (const std::string said = said_of(key, value); !said.empty())
        text += (text.empty() ? "" : ", ") + std::string(leaf_name(key.field.path)) + ": " + said;
    }
    return text.empty() ? text : "{" + text + "}";
  }

  std::vector<SectionKey<T>> keys_;
};

}  // namespace foretrain
