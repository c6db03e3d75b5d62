// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace foretrain {

/// Searching what sources say in words.
[[nodiscard]] inline bool has_part(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

[[nodiscard]] inline std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The first word of a source's name without its owner and version: "ai-dynamo/aiconfigurator
/// data@095f58a51" is "aiconfigurator", "https://github.com/NVIDIA/nccl-tests/issues/309" is
/// "nccl-tests".
[[nodiscard]] inline std::string family_of(const std::string& source) {
  constexpr std::string_view github = "https://github.com/";
  std::string word = source.starts_with(github) ? source.substr(github.size()) : source;
  word = word.substr(0, word.find_first_of(" @"));
  if (const auto owner = word.find('/'); owner != std::string::npos) word = word.substr(owner + 1);
  return word.substr(0, word.find('/'));
}

}  // namespace foretrain
