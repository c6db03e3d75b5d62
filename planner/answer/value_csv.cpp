// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/value_csv.hpp"

#include <charconv>
#include <string_view>

#include "models/base/require.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

/// Spreadsheets compute what starts like this, links and commands included; a number is a number.
bool is_formula(const std::string& text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos)
    return false;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  double number = 0.0;
  const auto [stopped, error] = std::from_chars(begin, end, number);
  return error != std::errc{} || stopped != end;
}

}  // namespace

std::string csv_field(const std::string& cell) {
  std::string text = is_formula(cell) ? "'" + cell : cell;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string csv_value(const Value& value) {
  FORETRAIN_REQUIRE(!std::holds_alternative<std::vector<ValueMember>>(value));
  if (const auto* text = std::get_if<std::string>(&value)) return csv_field(*text);
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const double* number = std::get_if<double>(&value)) return number_or_null(*number).dump();
  std::string joined;
  if (const auto* list = std::get_if<std::vector<Value>>(&value))
    for (const Value& each : *list) joined += (joined.empty() ? "" : ";") + csv_value(each);
  return joined;
}

void CsvText::add(std::span<const ValueMember> record) {
  std::string names;
  std::string line;
  for (const auto& [key, value] : record) {
    names += (names.empty() ? "" : ",") + csv_field(key);
    line += (line.empty() && &key == &record.front().key ? "" : ",") + csv_value(value);
  }
  text_ += (text_.empty() ? names + "\r\n" : "") + line + "\r\n";
}

}  // namespace foretrain
