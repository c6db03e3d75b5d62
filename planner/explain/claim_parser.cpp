// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/base/ranges.hpp"
#include "planner/explain/claim.hpp"
#include "planner/text/usage_error.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

constexpr const char* understood =
    "understood are tokens (\"2 T tokens\"), GPUs (\"1024 H100\", \"1024 GPUs\") and a duration "
    "(\"7 days\"; minutes, hours, days, weeks, months, years), for example "
    "\"2 T tokens on 1024 H100 in 7 days\"";

constexpr std::array<std::pair<std::string_view, double>, 13> scales{{{"k", 1e3},
                                                                      {"thousand", 1e3},
                                                                      {"m", 1e6},
                                                                      {"million", 1e6},
                                                                      {"b", 1e9},
                                                                      {"bn", 1e9},
                                                                      {"billion", 1e9},
                                                                      {"g", 1e9},
                                                                      {"t", 1e12},
                                                                      {"tn", 1e12},
                                                                      {"trillion", 1e12},
                                                                      {"billions", 1e9},
                                                                      {"trillions", 1e12}}};

constexpr std::array<std::string_view, 21> fillers{
    "on",   "in",    "with",     "using",  "within", "of",    "and",
    "over", "train", "training", "trains", "for",    "the",   "we",
    "can",  "at",    "takes",    "x",      "nvidia", "under", "trained"};

/// A run of letters with digits ("h100", "tokens"), or a number.
struct Word {
  std::string text;  ///< lower case
  bool is_number = false;
  double number = 0.0;
};

template <std::size_t N>
std::optional<double> look_up(const std::array<std::pair<std::string_view, double>, N>& table,
                              std::string_view word) {
  for (const auto& [name, value] : table)
    if (name == word) return value;
  return std::nullopt;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; }

Word read_number(std::string_view text, std::size_t& at) {
  std::string digits;
  while (at < text.size()) {
    const char c = text[at];
    const bool next_digit = at + 1 < text.size() && is_digit(text[at + 1]);
    if (is_digit(c) || (c == '.' && next_digit)) {
      digits += c;
    } else if (!(c == ',' && next_digit)) {
      break;
    }
    ++at;
  }
  Word word{digits, true, 0.0};
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), word.number);
  if (read.ec != std::errc{} || read.ptr != digits.data() + digits.size())
    throw UsageError("--claim: '" + digits + "' is not a number; " + understood);
  return word;
}

std::vector<Word> split(std::string_view text) {
  std::vector<Word> words;
  for (std::size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (is_digit(c)) {
      words.push_back(read_number(text, at));
    } else if (is_letter(c)) {
      Word word;
      while (at < text.size() && (is_letter(text[at]) || is_digit(text[at]) || text[at] == '-'))
        word.text += static_cast<char>(std::tolower(static_cast<unsigned char>(text[at++])));
      // "1024xH100": the x belongs to the number.
      if (word.text.size() > 1 && word.text[0] == 'x' && !words.empty() && words.back().is_number)
        word.text.erase(0, 1);
      words.push_back(std::move(word));
    } else if (c == ' ' || c == ',' || c == '.' || c == '\t' || c == '*') {
      ++at;
    } else {
      throw UsageError("--claim: '" + std::string(1, c) + "' is not understood; " + understood);
    }
  }
  return words;
}

bool is_one_of(std::string_view word, std::initializer_list<std::string_view> list) {
  return contains(list, word);
}

/// Letters, then digits: A100, H100, H200, V100, B200, GB200, MI300X.
bool looks_like_device(std::string_view word) {
  const auto digit = std::ranges::find_if(word, is_digit);
  return digit != word.begin() && digit != word.end();
}

template <class T>
void set_once(std::optional<T>& slot, T value, const char* what) {
  if (slot) throw UsageError(std::string("--claim: ") + what + " stated twice; " + understood);
  slot = value;
}

void set_gpus(Claim& claim, double count) {
  if (count < 1.0 || count != std::floor(count) || count > std::numeric_limits<int>::max())
    throw UsageError(std::string("--claim: the count of GPUs must be a whole number; ") +
                     understood);
  set_once(claim.gpus, static_cast<int>(count), "GPUs are");
}

/// Reads what a number counts: words[at] is the first word after it.
void read_quantity(double number, const std::vector<Word>& words, std::size_t& at, Claim& claim) {
  const auto next = [&]() -> std::string_view {
    return at < words.size() && !words[at].is_number ? std::string_view(words[at].text) : "";
  };
  if (next() == "x") ++at;
  if (const auto scale = look_up(scales, next())) {
    number *= *scale;
    ++at;
  }
  if (is_one_of(next(), {"token", "tokens", "tok"})) {
    if (number <= 0.0)
      throw UsageError(std::string("--claim: tokens must be positive; ") + understood);
    set_once(claim.tokens, number, "tokens are");
    ++at;
  } else if (is_one_of(next(), {"gpu", "gpus", "accelerators"})) {
    set_gpus(claim, number);
    ++at;
  } else if (const Unit* const unit = find_unit(next(), Dimension::time)) {
    if (number <= 0.0)
      throw UsageError(std::string("--claim: the duration must be positive; ") + understood);
    set_once(claim.duration, Seconds{number * unit->multiplier / unit->divisor}, "the duration is");
    ++at;
  } else if (looks_like_device(next())) {
    set_gpus(claim, number);
    set_once(claim.device, std::string(next()), "the device is");
    ++at;
    if (is_one_of(next(), {"gpu", "gpus"})) ++at;
  } else {
    throw UsageError("--claim: it is not clear what the number counts before '" +
                     (at < words.size() ? words[at].text : std::string("the end")) + "'; " +
                     understood);
  }
}

}  // namespace

Claim parse_claim(const std::string& text) {
  const std::vector<Word> words = split(text);
  Claim claim;
  for (std::size_t at = 0; at < words.size();) {
    const Word& word = words[at];
    ++at;
    const bool one = is_one_of(word.text, {"a", "an", "one"});
    if (word.is_number || one) {
      read_quantity(one ? 1.0 : word.number, words, at, claim);
    } else if (looks_like_device(word.text)) {
      set_once(claim.device, word.text, "the device is");
    } else if (!contains(fillers, word.text)) {
      throw UsageError("--claim: '" + word.text + "' is not understood; " + understood);
    }
  }
  if (!claim.tokens && !claim.gpus && !claim.duration)
    throw UsageError(std::string("--claim: it states nothing to check; ") + understood);
  return claim;
}

}  // namespace foretrain
