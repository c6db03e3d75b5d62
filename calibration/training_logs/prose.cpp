// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/prose.hpp"

namespace foretrain {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/// A message of a program that ran out of memory has sentences, too.
bool is_message(std::string_view line) {
  return line.find("Error") != std::string_view::npos ||
         line.find("Traceback") != std::string_view::npos;
}

/// Six words of letters alone, or more than half of them, and no fields of a log.
bool is_sentence(std::string_view line) {
  constexpr int few = 6;
  int words = 0;
  int plain = 0;
  for (std::size_t at = 0; at < line.size();) {
    while (at < line.size() && line[at] == ' ') ++at;
    std::size_t end = at;
    bool letters = true;
    while (end < line.size() && line[end] != ' ') {
      const char c = line[end];
      const bool mark = (c == ',' || c == '.' || c == ';' || c == ':') &&
                        (end + 1 == line.size() || line[end + 1] == ' ');
      letters = letters && (is_letter(c) || c == '-' || c == '\'' || mark);
      ++end;
    }
    if (end > at) {
      ++words;
      plain += letters ? 1 : 0;
    }
    at = end;
  }
  return plain >= few && 10 * plain >= 7 * words;
}

/// Marks of pages: headings, lists, fences, tables and tags.
bool is_markup(std::string_view line) {
  while (line.starts_with(' ')) line.remove_prefix(1);
  for (const std::string_view mark : {"# ", "## ", "### ", "- ", "* ", "> ", "```", "| ", "|-"})
    if (line.starts_with(mark)) return true;
  return line.starts_with('<') && line.size() > 2 && (is_letter(line[1]) || line[1] == '/');
}

}  // namespace

void ProseShare::take(std::string_view line) {
  constexpr long enough = 2000;
  if (lines_ >= enough || line.find_first_not_of(" \t") == std::string_view::npos) return;
  ++lines_;
  if (is_markup(line)) ++marks_;
  if (!is_message(line) && is_sentence(line)) ++sentences_;
}

bool ProseShare::is_page() const { return marks_ >= 2 && 3 * (marks_ + sentences_) >= lines_; }

bool ProseShare::most_of_it() const { return lines_ > 0 && 3 * sentences_ >= lines_; }

}  // namespace foretrain
