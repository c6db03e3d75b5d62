// SPDX-License-Identifier: Apache-2.0

#include "planner/text/text_layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

bool continues_character(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

std::string repeated(std::string_view piece, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += piece;
  return result;
}

/// Bytes of the first `columns` characters.
std::size_t prefix_bytes(std::string_view text, int columns) {
  std::size_t at = 0;
  while (at < text.size() && columns > 0) {
    ++at;
    while (at < text.size() && continues_character(text[at])) ++at;
    --columns;
  }
  return at;
}

constexpr std::string_view blanks = " \n\t\r";
constexpr std::size_t longest_unit = 4;  // letters of "days"

constexpr std::string_view set_option = "--set";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Takes the next word off `text`; empty when there is none.
std::string_view next_word(std::string_view& text) {
  const std::size_t begin = std::min(text.find_first_not_of(blanks), text.size());
  const std::size_t end = std::min(text.find_first_of(blanks, begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

/// Words of a command, blanks in quotes kept, and a setting with its option.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words(1);
  bool quoted = false;
  for (const char c : command) {
    if (c == '\'') quoted = !quoted;
    if (c == ' ' && !quoted && words.back() != set_option)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

}  // namespace

int display_width(std::string_view text) {
  int columns = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\x1b') {
      while (at < text.size() && text[at] != 'm') ++at;
      continue;
    }
    if (!continues_character(text[at])) ++columns;
  }
  return columns;
}

std::string pad_right(std::string_view text, int columns) {
  return std::string(text) + repeated(" ", columns - display_width(text));
}

std::string pad_left(std::string_view text, int columns) {
  return repeated(" ", columns - display_width(text)) + std::string(text);
}

std::string cut(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  if (columns <= 3) return std::string(text.substr(0, prefix_bytes(text, columns)));
  return std::string(text.substr(0, prefix_bytes(text, columns - 3))) + "...";
}

std::vector<std::string> wrap(std::string_view text, int columns) {
  FORETRAIN_REQUIRE(columns >= 1);
  std::vector<std::string> lines{""};
  const auto add_word = [&](std::string_view word) {
    const int room = columns - display_width(lines.back()) - (lines.back().empty() ? 0 : 1);
    if (display_width(word) <= room) {
      if (!lines.back().empty()) lines.back() += ' ';
      lines.back() += word;
      return;
    }
    if (!lines.back().empty()) lines.emplace_back();
    while (display_width(word) > columns) {
      const std::size_t bytes = prefix_bytes(word, columns);
      lines.back() = word.substr(0, bytes);
      lines.emplace_back();
      word.remove_prefix(bytes);
    }
    lines.back() = word;
  };
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view word = next_word(rest);
    if (word.empty()) break;
    // "5.0 %", "4.19 M" and "--set a=b" stay together where they fit.
    std::string_view after = rest;
    const std::string_view unit = next_word(after);
    const bool glued = word == set_option ||
                       (is_digit(word.back()) && !unit.empty() && unit.size() <= longest_unit);
    const std::string both = std::string(word) + " " + std::string(unit);
    if (glued && display_width(both) <= columns) {
      add_word(both);
      rest = after;
    } else {
      add_word(word);
    }
  }
  return lines;
}

std::string hanging(std::string_view first, std::string_view text, const TextStyle& style) {
  const int indent = display_width(first);
  const int room = std::max(8, style.width - indent);
  std::string result;
  bool head = true;
  for (const std::string& line : wrap(text, room)) {
    result += (head ? std::string(first) : repeated(" ", indent)) + line + '\n';
    head = false;
  }
  return result;
}

std::string hanging_command(std::string_view first, const std::string& command,
                            const TextStyle& style) {
  const auto room = static_cast<std::size_t>(style.width - 2);  // for " \"
  const std::size_t least = room / 2;
  std::string text;
  std::string line(first);
  for (const std::string& word : words_of(command)) {
    if (line.size() + 1 + word.size() > room && line.size() > first.size()) {
      text += line + " \\\n";
      line = std::string(first.size(), ' ');
    }
    line += " " + word;
    while (line.size() > room) {
      // Within quotes they end before the break, and begin again behind it; not beside a quote.
      std::size_t at = room - 2;
      while (at > least && line.substr(at - 2, 4).find_first_of("'\\") != std::string::npos) --at;
      if (at == least) break;
      const std::string kept = line.substr(0, at);
      const bool quoted = std::count(kept.begin(), kept.end(), '\'') % 2 == 1;
      text += kept + (quoted ? "'\\\n" : "\\\n");
      line = (quoted ? "'" : "") + line.substr(at);
    }
  }
  return text + line + "\n";
}

std::string labelled(std::string_view label, std::string_view text, const TextStyle& style,
                     int label_columns) {
  return hanging("  " + pad_right(label, label_columns), text, style);
}

std::string toned(std::string_view text, Tone tone, const TextStyle& style) {
  if (!style.color || tone == Tone::plain) return std::string(text);
  const char* code = "0";
  switch (tone) {
    case Tone::plain:
      break;
    case Tone::strong:
      code = "1";
      break;
    case Tone::dim:
      code = "2";
      break;
    case Tone::good:
      code = "32";
      break;
    case Tone::bad:
      code = "31;1";
      break;
    case Tone::warn:
      code = "33";
      break;
  }
  return "\x1b[" + std::string(code) + "m" + std::string(text) + "\x1b[0m";
}

std::string span_bar(double start, double end, int cells, const TextStyle& style) {
  if (start > end) std::swap(start, end);
  start = std::clamp(start, 0.0, 1.0);
  end = std::clamp(end, 0.0, 1.0);
  if (cells < 1 || end <= start) return repeated(" ", cells);
  const int first = std::min(cells - 1, static_cast<int>(std::floor(start * cells + 1e-9)));
  if (!style.unicode) {
    const int last = std::clamp(static_cast<int>(std::lround(end * cells)), first + 1, cells);
    return repeated(" ", first) + repeated("#", last - first) + repeated(" ", cells - last);
  }
  // Eighths of a cell exist only at the right edge of a bar.
  static constexpr std::array<std::string_view, 8> partial{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int eighths = std::clamp(static_cast<int>(std::lround((end * cells - first) * 8.0)), 1,
                                 (cells - first) * 8);
  const int full = eighths / 8;
  const auto rest = static_cast<std::size_t>(eighths % 8);
  return repeated(" ", first) + repeated("█", full) + std::string(partial[rest]) +
         repeated(" ", cells - first - full - (rest > 0 ? 1 : 0));
}

std::string markdown_cell(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\') result += '\\';
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c == '\n' || c == '\r' ? ' ' : c;
  }
  return result;
}

std::string markdown_row(const std::vector<std::string>& cells) {
  std::string result = "|";
  for (const std::string& cell : cells) result += " " + cell + " |";
  return result + "\n";
}

}  // namespace foretrain
