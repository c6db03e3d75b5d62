// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace foretrain {

/// A number as logs print it: "1,048,576", "11.5K", "4e-05", "9.46" before a unit.
struct PrintedNumber {
  double value = 0.0;
  std::size_t end = 0;  ///< behind it and its K, M, G, T or B
};

/// The number at the front of the text. @param scaled whether K, M, G, T right behind it multiply
/// by powers of 1000
[[nodiscard]] std::optional<PrintedNumber> leading_number(std::string_view text, bool scaled);

/// The number behind a label: blanks, colons, '=', '|', quotes and rows of dots between are passed
/// over, and so is JSON's `", "value": ` of MLPerf lines.
[[nodiscard]] std::optional<double> number_behind(std::string_view line, std::size_t at,
                                                  bool scaled);

/// The number that ends where a unit begins: "3056.36 ms".
[[nodiscard]] std::optional<double> number_before(std::string_view line, std::size_t at);

/// The word behind a label, by the same rules, without quotes; empty: there is none.
[[nodiscard]] std::string_view word_behind(std::string_view line, std::size_t at);

/// Seconds of a length of time: "1:02:03", "02:03", "00:27.5".
[[nodiscard]] std::optional<double> clock_length(std::string_view text);

/// Seconds since an arbitrary day of the first time stamp in the front of a line: "2025-06-04
/// 08:51:48,074", "[08/30/23 07:07:34]", "I0706 16:50:26.230209", "02:40:52". Where no date
/// stands, the day is 0. @param coarse set where it has whole seconds only
[[nodiscard]] std::optional<double> stamp_in(std::string_view line, bool& coarse);

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
