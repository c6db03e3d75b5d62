// SPDX-License-Identifier: Apache-2.0
#include "calibration/training_logs/word_scanner.hpp"

#include <deque>

namespace foretrain {

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
