// SPDX-License-Identifier: Apache-2.0

#include "calibration/harness/common/json_line.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace foretrain::harness {

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (byte < 0x20U) {
      std::array<char, 7> escape{};
      std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(byte));
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + '"';
}

void JsonLine::key(std::string_view name) {
  if (!body_.empty()) body_ += ',';
  body_ += quoted(name);
  body_ += ':';
}

JsonLine& JsonLine::text(std::string_view name, std::string_view value) {
  key(name);
  body_ += quoted(value);
  return *this;
}

JsonLine& JsonLine::number(std::string_view name, double value) {
  if (!std::isfinite(value)) return missing(name);
  key(name);
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  body_.append(digits.data(), end.ptr);
  return *this;
}

JsonLine& JsonLine::whole(std::string_view name, std::int64_t value) {
  key(name);
  body_ += std::to_string(value);
  return *this;
}

JsonLine& JsonLine::truth(std::string_view name, bool value) {
  key(name);
  body_ += value ? "true" : "false";
  return *this;
}

JsonLine& JsonLine::missing(std::string_view name) {
  key(name);
  body_ += "null";
  return *this;
}

Sample summarize(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const double rank = std::ceil(share * static_cast<double>(values.size()));
    return values[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
  };
  return Sample{static_cast<int>(values.size()), values.front(), at(0.5), at(0.9), values.back()};
}

}  // namespace foretrain::harness
