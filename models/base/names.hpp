// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace foretrain {

/// Specialised next to each enumeration that users write or read: the one place where its names
/// stand. The reader, the JSON Schema, the reference pages and the reports all use it.
///   static constexpr std::array<std::pair<E, std::string_view>, N> names;
template <class E>
struct EnumNames;

/// The user-facing name of an enumerator.
template <class E>
[[nodiscard]] constexpr std::string_view name_of(E value) {
  for (const auto& [candidate, name] : EnumNames<E>::names)
    if (candidate == value) return name;
  return "?";
}

template <class E>
[[nodiscard]] constexpr std::optional<E> from_name(std::string_view text) {
  for (const auto& [candidate, name] : EnumNames<E>::names)
    if (name == text) return candidate;
  return std::nullopt;
}

/// All legal names, in declaration order.
template <class E>
[[nodiscard]] std::vector<std::string_view> all_names() {
  std::vector<std::string_view> result;
  result.reserve(EnumNames<E>::names.size());
  for (const auto& entry : EnumNames<E>::names) result.push_back(entry.second);
  return result;
}

}  // namespace foretrain

/// Defines EnumNames for `E`; use at namespace foretrain scope.
#define FORETRAIN_ENUM_NAMES(E, ...)                                                            \
  template <>                                                                                   \
  struct EnumNames<E> {                                                                         \
    static constexpr auto names = std::to_array<std::pair<E, std::string_view>>({__VA_ARGS__}); \
  }
