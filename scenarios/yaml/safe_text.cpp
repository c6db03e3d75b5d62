// SPDX-License-Identifier: Apache-2.0
#include "scenarios/yaml/safe_text.hpp"

#include <fmt/format.h>

namespace foretrain {

std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xC0U) == 0x80U; };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead < 0xE0) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead < 0xF0) {
    const bool overlong = lead == 0xE0 && byte(1) < 0xA0;
    const bool surrogate = lead == 0xED && byte(1) >= 0xA0;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead < 0xF5) {
    const bool overlong = lead == 0xF0 && byte(1) < 0x90;
    const bool beyond = lead == 0xF4 && byte(1) >= 0x90;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

char32_t code_point(std::string_view text, std::size_t at) {
  const std::size_t length = utf8_length(text, at);
  const auto lead = static_cast<unsigned char>(text[at]);
  char32_t code = length == 1 ? lead : lead & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i)
    code = (code << 6U) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  return code;
}

bool acts_on_reader(char32_t code) {
  const auto within = [&](char32_t first, char32_t last) { return first <= code && code <= last; };
  return code < 0x20 || within(0x7F, 0x9F) || code == 0x61C || within(0x200E, 0x200F) ||
         within(0x2028, 0x202E) || within(0x2066, 0x2069) || within(0xFFFE, 0xFFFF);
}

std::optional<char32_t> find_acting(std::string_view text, std::string_view allowed) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    if (length > 0) {
      const char32_t code = code_point(text, at);
      if (acts_on_reader(code) &&
          (code >= 0x80 || allowed.find(static_cast<char>(code)) == std::string_view::npos))
        return code;
    }
    at += length > 0 ? length : 1;
  }
  return std::nullopt;
}

std::string acting_refusal(char32_t code) {
  return fmt::format(
      "holds the character U+{:04X}, on which terminals, logs or browsers act; leave it out",
      static_cast<unsigned>(code));
}

std::string escaped(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text, at);
    const std::size_t bytes = length > 0 ? length : 1;
    if (length == 0 || acts_on_reader(code_point(text, at))) {
      for (const char byte : text.substr(at, bytes))
        result += byte == '\n' ? std::string("\\n")
                               : fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    } else {
      result += text.substr(at, bytes);
    }
    at += bytes;
  }
  return result;
}

}  // namespace foretrain
