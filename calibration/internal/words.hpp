// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace foretrain {

/// Searching what sources say in words.
[[nodiscard]] inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

[[nodiscard]] inline std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

}  // namespace foretrain
