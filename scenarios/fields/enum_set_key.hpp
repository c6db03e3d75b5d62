// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "models/inputs/fine_tuning.hpp"
#include "scenarios/fields/section_keys.hpp"

namespace foretrain::section {

/// "[a, b]" in the order in which the enumeration names them.
template <class E>
std::string set_text(const EnumSet<E>& set) {
  std::string text;
  for (const auto& [value, name] : EnumNames<E>::names)
    if (set.has(value)) text += (text.empty() ? "" : ", ") + std::string(name);
  return "[" + text + "]";
}

/// A key that lists some values of an enumeration; `V` is EnumSet<E>, or that where the key may be
/// left out.
template <class E, class T, class V>
SectionKey<T> enum_set(Field field, V T::*member) {
  field.kind = FieldKind::choice_list;
  field.choices = choices_of<E>();
  SectionKey<T> key{std::move(field)};
  key.read = [member](T& target, const FieldValue& value) {
    EnumSet<E> set;
    for (const std::string& name : value.texts)
      if (const auto one = from_name<E>(name)) set.add(*one);
    target.*member = set;
  };
  key.write = [member](const T& value) {
    if (value.*member == T{}.*member) return std::string();
    if constexpr (IsOptional<V>::value)
      return set_text(*(value.*member));
    else
      return set_text(value.*member);
  };
  return key;
}

}  // namespace foretrain::section
