// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace foretrain {

/// A word found in a line.
struct WordHit {
  int word = 0;           ///< its place in the vocabulary
  std::size_t begin = 0;  ///< of the line
  std::size_t end = 0;
};

/// Finds all words of a vocabulary in a line in one pass, whatever their number (Aho and Corasick,
/// CACM 18(6), 1975). Upper and lower case are the same, and so are blank, '-' and '_': frameworks
/// print `--micro-batch-size`, `micro_batch_size` and `micro batch size`.
class WordScanner {
 public:
  /// @pre no word is empty; the same word twice counts once, by its first place
  explicit WordScanner(const std::vector<std::string_view>& words);

  /// Adds what is found to `hits`, by the ends of the words.
  void scan(std::string_view line, std::vector<WordHit>& hits) const;

 private:
  struct State {
    int word = -1;    ///< that ends here
    int shorter = 0;  ///< state of the longest word that ends here, too; 0: none
  };

  void link_failures();
  [[nodiscard]] std::int32_t& next(std::size_t state, unsigned symbol) {
    return next_[state * symbols_ + symbol];
  }

  std::array<std::uint8_t, 256> symbol_{};  ///< 0: of no word
  std::size_t symbols_ = 1;
  std::vector<State> states_;
  std::vector<std::int32_t> next_;
  std::vector<std::size_t> lengths_;
};

/// The letter that the scanner takes a byte for.
[[nodiscard]] char folded(char c);

}  // namespace foretrain
