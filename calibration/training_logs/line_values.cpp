// SPDX-License-Identifier: Apache-2.0

#include "calibration/training_logs/line_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <deque>

namespace foretrain {
namespace {

bool numeral(char c) { return c >= '0' && c <= '9'; }

bool blank_char(char c) { return c == ' ' || c == '\t'; }

double scale_of(char c) {
  switch (c) {
    case 'k':
    case 'K':
      return 1e3;
    case 'M':
      return 1e6;
    case 'G':
    case 'B':
      return 1e9;
    case 'T':
      return 1e12;
    default:
      return 1.0;
  }
}

/// Where the value behind a label begins.
std::size_t value_begin(std::string_view line, std::size_t at) {
  constexpr std::string_view mlperf = "\", \"value\": ";
  if (line.substr(at).starts_with(mlperf)) at += mlperf.size();
  const auto passed = [](char c) {
    return blank_char(c) || c == ':' || c == '=' || c == '|' || c == '"' || c == '\'' || c == '`';
  };
  constexpr std::string_view argument = "', '";  // of a list of a command's words
  if (line.substr(at).starts_with(argument)) at += argument.size();
  // A row of dots leads to the value; a dot before a digit is its own.
  const auto of_row = [line](std::size_t place) {
    return line[place] == '.' && (place + 1 >= line.size() || !numeral(line[place + 1]) ||
                                  (place > 0 && line[place - 1] == '.'));
  };
  while (at < line.size() && (passed(line[at]) || of_row(at))) ++at;
  return at;
}

/// Two digits of a stamp at a place; -1: there are none.
int two_digits(std::string_view text, std::size_t at) {
  if (at + 2 > text.size() || !numeral(text[at]) || !numeral(text[at + 1])) return -1;
  return (text[at] - '0') * 10 + (text[at + 1] - '0');
}

double day_number(int year, int month, int day) {
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  return date.ok() ? static_cast<double>(std::chrono::sys_days{date}.time_since_epoch().count())
                   : 0.0;
}

/// The day that stands right before a time of day: 2025-06-04, 08/30/23, 10/17/2025, I0706.
double day_before(std::string_view text) {
  while (!text.empty() && (blank_char(text.back()) || text.back() == 'T' || text.back() == '|'))
    text.remove_suffix(1);
  constexpr std::size_t full = 10;
  constexpr std::size_t short_date = 8;
  if (text.size() >= full) {
    const std::string_view date = text.substr(text.size() - full);
    if (date[4] == '-' && date[7] == '-')
      return day_number(two_digits(date, 0) * 100 + two_digits(date, 2), two_digits(date, 5),
                        two_digits(date, 8));
    if (date[2] == '/' && date[5] == '/')
      return day_number(two_digits(date, 6) * 100 + two_digits(date, 8), two_digits(date, 0),
                        two_digits(date, 3));
  }
  if (text.size() >= short_date) {
    const std::string_view date = text.substr(text.size() - short_date);
    if (date[2] == '/' && date[5] == '/')
      return day_number(2000 + two_digits(date, 6), two_digits(date, 0), two_digits(date, 3));
  }
  if (text.size() >= 5 && text[text.size() - 5] >= 'E' && text[text.size() - 5] <= 'W')
    return day_number(2000, two_digits(text, text.size() - 4), two_digits(text, text.size() - 2));
  return 0.0;
}

/// The comma of "1,048,576", not of "12,34" or "1, 2".
bool parts_thousands(std::string_view text, std::size_t at) {
  if (text[at] != ',' || !numeral(text[at - 1]) || at + 3 >= text.size()) return false;
  const bool three = numeral(text[at + 1]) && numeral(text[at + 2]) && numeral(text[at + 3]);
  return three && (at + 4 >= text.size() || !numeral(text[at + 4]));
}

/// Whether a character goes on with a number. @param before the one before it; blank: none
bool continues_number(std::string_view text, std::size_t at, char before) {
  const char c = text[at];
  if (numeral(c) || c == '.') return true;
  if (c == '-' || c == '+') return before == ' ' || before == 'e' || before == 'E';
  if ((c != 'e' && c != 'E') || before == ' ' || at + 1 >= text.size()) return false;
  const char next = text[at + 1];
  return numeral(next) || next == '-' || next == '+';
}

}  // namespace

std::optional<PrintedNumber> leading_number(std::string_view text, bool scaled) {
  constexpr std::size_t most = 40;
  std::array<char, most> digits{};
  std::size_t count = 0;
  std::size_t at = text.starts_with('+') ? 1 : 0;
  for (; at < text.size() && count < most; ++at) {
    if (count > 0 && parts_thousands(text, at)) continue;
    const char before = count > 0 ? digits[count - 1] : ' ';
    if (!continues_number(text, at, before)) break;
    digits[count++] = text[at];
  }
  PrintedNumber result;
  const auto [rest, failure] = std::from_chars(digits.data(), digits.data() + count, result.value);
  if (failure != std::errc() || !std::isfinite(result.value)) return std::nullopt;
  result.end = at - static_cast<std::size_t>(digits.data() + count - rest);
  if (scaled && result.end < text.size()) {
    const double scale = scale_of(text[result.end]);
    if (scale > 1.0) ++result.end;
    result.value *= scale;
  }
  return result;
}

std::optional<double> number_behind(std::string_view line, std::size_t at, bool scaled) {
  const std::size_t begin = value_begin(line, at);
  if (begin >= line.size()) return std::nullopt;
  const auto number = leading_number(line.substr(begin), scaled);
  return number ? std::optional(number->value) : std::nullopt;
}

std::optional<double> number_before(std::string_view line, std::size_t at) {
  while (at > 0 && blank_char(line[at - 1])) --at;
  std::size_t begin = at;
  while (begin > 0 &&
         (numeral(line[begin - 1]) || line[begin - 1] == '.' || line[begin - 1] == ','))
    --begin;
  const auto number = leading_number(line.substr(begin, at - begin), false);
  return number ? std::optional(number->value) : std::nullopt;
}

std::string_view word_behind(std::string_view line, std::size_t at) {
  std::size_t begin = value_begin(line, at);
  if (begin < line.size() && line[begin] == '[') begin = value_begin(line, begin + 1);
  std::size_t end = begin;
  const auto inside = [](char c) {
    return numeral(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.' ||
           c == '-';
  };
  while (end < line.size() && inside(line[end]) && !line.substr(end).starts_with("..")) ++end;
  return line.substr(begin, end - begin);
}

std::optional<double> clock_length(std::string_view text) {
  double seconds = 0.0;
  int parts = 0;
  while (parts < 3) {
    const auto number = leading_number(text, false);
    if (!number || number->value < 0.0) return std::nullopt;
    seconds = seconds * 60.0 + number->value;
    ++parts;
    text.remove_prefix(number->end);
    if (!text.starts_with(':')) break;
    text.remove_prefix(1);
  }
  return parts >= 2 ? std::optional(seconds) : std::nullopt;
}

std::optional<double> stamp_in(std::string_view line, bool& coarse) {
  constexpr std::size_t front = 160;
  const std::string_view text = line.substr(0, std::min(front, line.size()));
  for (std::size_t at = 2; at + 5 < text.size(); ++at) {
    if (text[at] != ':' || text[at + 3] != ':') continue;
    const int hours = two_digits(text, at - 2);
    const int minutes = two_digits(text, at + 1);
    const int whole = two_digits(text, at + 4);
    if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59 || whole < 0 || whole > 60) continue;
    double part = 0.0;
    double unit = 0.1;
    std::size_t behind = at + 6;
    if (behind + 1 < text.size() && (text[behind] == ',' || text[behind] == '.') &&
        numeral(text[behind + 1]))
      for (++behind; behind < text.size() && numeral(text[behind]); ++behind, unit *= 0.1)
        part += unit * (text[behind] - '0');
    if (unit > 0.05) coarse = true;
    return day_before(text.substr(0, at - 2)) * 86400.0 + hours * 3600.0 + minutes * 60.0 + whole +
           part;
  }
  return std::nullopt;
}

char folded(char c) {
  if (c >= 'A' && c <= 'Z') return static_cast<char>(c - 'A' + 'a');
  return c == ' ' || c == '-' || c == '\t' ? '_' : c;
}

WordScanner::WordScanner(const std::vector<std::string_view>& words) {
  std::array<std::uint8_t, 256> by_letter{};
  for (const std::string_view word : words)
    for (const char c : word) {
      auto& symbol = by_letter[static_cast<unsigned char>(folded(c))];
      if (symbol == 0) symbol = static_cast<std::uint8_t>(symbols_++);
    }
  for (unsigned byte = 0; byte < symbol_.size(); ++byte)
    symbol_[byte] = by_letter[static_cast<unsigned char>(folded(static_cast<char>(byte)))];
  states_.emplace_back();
  next_.assign(symbols_, 0);
  for (std::size_t place = 0; place < words.size(); ++place) {
    std::size_t state = 0;
    for (const char c : words[place]) {
      const unsigned symbol = symbol_[static_cast<unsigned char>(c)];
      if (next(state, symbol) == 0) {
        next(state, symbol) = static_cast<std::int32_t>(states_.size());
        states_.emplace_back();
        next_.resize(states_.size() * symbols_, 0);
      }
      state = static_cast<std::size_t>(next(state, symbol));
    }
    if (states_[state].word < 0) states_[state].word = static_cast<int>(place);
    lengths_.push_back(words[place].size());
  }
  link_failures();
}

void WordScanner::link_failures() {
  std::vector<std::int32_t> fail(states_.size(), 0);
  std::deque<std::size_t> queue;
  for (unsigned symbol = 0; symbol < symbols_; ++symbol)
    if (next(0, symbol) != 0) queue.push_back(static_cast<std::size_t>(next(0, symbol)));
  for (; !queue.empty(); queue.pop_front()) {
    const std::size_t state = queue.front();
    const auto back = static_cast<std::size_t>(fail[state]);
    states_[state].shorter =
        states_[back].word >= 0 ? static_cast<int>(back) : states_[back].shorter;
    for (unsigned symbol = 0; symbol < symbols_; ++symbol) {
      const std::int32_t child = next(state, symbol);
      const std::int32_t other = next(back, symbol);
      if (child == 0) {
        next(state, symbol) = other;
      } else {
        fail[static_cast<std::size_t>(child)] = other;
        queue.push_back(static_cast<std::size_t>(child));
      }
    }
  }
}

void WordScanner::scan(std::string_view line, std::vector<WordHit>& hits) const {
  std::size_t state = 0;
  for (std::size_t at = 0; at < line.size(); ++at) {
    const unsigned symbol = symbol_[static_cast<unsigned char>(line[at])];
    state = static_cast<std::size_t>(next_[state * symbols_ + symbol]);
    for (std::size_t found =
             states_[state].word >= 0 ? state : static_cast<std::size_t>(states_[state].shorter);
         found != 0; found = static_cast<std::size_t>(states_[found].shorter)) {
      const int word = states_[found].word;
      const std::size_t length = lengths_[static_cast<std::size_t>(word)];
      hits.push_back({word, at + 1 - length, at + 1});
    }
  }
}

}  // namespace foretrain
