// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "planner/answer/value_rows.hpp"

namespace foretrain {

/// Two-space indented, keys in the order of the rows. Equal objects give equal bytes, and numbers
/// round-trip; whole ones have no fraction.
[[nodiscard]] std::string json_text(const Value& value);
template <class T>
[[nodiscard]] std::string json_text(const ValueTable<T>& table, const T& object) {
  return json_text(table.of(object));
}

/// The JSON Schema (draft 7) of a document of these rows. What may be absent may be null; times,
/// sizes and rates are not below zero, shares not above one.
[[nodiscard]] std::string schema_text(const ValueRows& rows);

}  // namespace foretrain
