// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "planner/answer/value.hpp"

namespace foretrain {

/// A field as RFC 4180 wants it: quoted when it holds a comma, a quote or a line end. A text that a
/// spreadsheet would take for a formula (one that starts with =, +, -, @, and is no number) gets an
/// apostrophe in front of it.
[[nodiscard]] std::string csv_field(const std::string& cell);
/// The same of a value: numbers as in JSON, nothing for what is unknown. @pre it is no object
[[nodiscard]] std::string csv_value(const Value& value);

/// A table by RFC 4180: a line of names, a line per record, CRLF at their ends.
class CsvText {
 public:
  /// @pre the names are those of the first record
  void add(std::span<const ValueMember> record);
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace foretrain
