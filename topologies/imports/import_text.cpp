// SPDX-License-Identifier: Apache-2.0
#include "topologies/imports/import_text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "models/base/text.hpp"

namespace foretrain::imports {

std::string printable(std::string_view text) {
  constexpr std::size_t most = 60;
  std::string shown;
  for (const char c : text.substr(0, most)) shown += c >= 0x20 && c < 0x7F ? c : '?';
  return text.size() > most ? shown + "..." : shown;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::vector<std::string_view> import_lines(std::string_view text) {
  if (text.size() > import_bytes)
    throw ImportError(0, "is larger than " + std::to_string(import_bytes >> 20U) + " MiB");
  std::vector<std::string_view> lines = text_lines(text);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string_view line = lines[i];
    const int number = static_cast<int>(i) + 1;
    if (line.size() > import_line_bytes)
      throw ImportError(number, "is longer than " + std::to_string(import_line_bytes) + " bytes");
    if (line.find('\0') != std::string_view::npos)
      throw ImportError(number, "holds a zero byte, so this is not a text file");
  }
  return lines;
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

std::optional<double> decimal_number(std::string_view text) {
  double value = 0.0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0.0)
    return std::nullopt;
  return value;
}

std::string some_of(const std::vector<std::string>& names, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

}  // namespace foretrain::imports
