// SPDX-License-Identifier: Apache-2.0
#include "planner/text/shell_word.hpp"

#include <fmt/format.h>

#include <string_view>

#include "scenarios/yaml/safe_text.hpp"

namespace foretrain {

namespace {

/// With what a terminal would act on as bash's $'\x1b'.
std::string coded(const std::string& text) {
  std::string result = "$'";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '\'' && c != '\\';
    result +=
        plain ? std::string(1, c)
              : fmt::format("\\x{:02x}", static_cast<unsigned int>(static_cast<unsigned char>(c)));
  }
  return result + "'";
}

}  // namespace

std::string shell_word(const std::string& text) {
  constexpr std::string_view harmless =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
  if (!text.empty() && text.find_first_not_of(harmless) == std::string::npos) return text;
  if (escaped(text) != text) return coded(text);
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'')
      result += "'\\''";
    else
      result += c;
  }
  return result + "'";
}

std::string shell_words(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

std::string set_words(const std::vector<std::string>& settings) {
  std::vector<std::string> words;
  for (const std::string& setting : settings) words.insert(words.end(), {"--set", setting});
  return shell_words(words);
}

}  // namespace foretrain
