// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <istream>
#include <string>
#include <string_view>

namespace foretrain {

/// A line of a log as a terminal would show it: no escape sequences, no rank or line prefix that a
/// launcher put before it, none of the states of a progress bar that a carriage return wiped out
/// (each of them is a line of its own).
struct TextLine {
  long number = 0;        ///< of the file, from 1
  std::string_view text;  ///< valid until the next line
};

/// What a stream of text was like.
struct StreamFacts {
  long lines = 0;
  long cut = 0;         ///< lines beyond `most_line_bytes`, whose rest was passed over
  long zeros = 0;       ///< zero bytes, as a crash or a full disk leaves them: passed over
  long zero_line = 0;   ///< where the first of them is
  bool binary = false;  ///< no text: reading stopped at its first zero byte
};

inline constexpr std::size_t most_line_bytes = std::size_t{64} << 10;

/// Hands over the lines of a stream, one after another, in memory that does not grow with it.
/// Ends of lines are line feeds, carriage returns and both.
/// @param front what was read of the stream before
[[nodiscard]] StreamFacts read_lines(std::istream& input,
                                     const std::function<void(const TextLine&)>& take,
                                     std::string_view front = {});

/// How much of a text is sentences.
class ProseShare {
 public:
  void take(std::string_view line);
  /// A third or more of the lines that are not empty, of the first two thousand.
  [[nodiscard]] bool most_of_it() const;
  /// The same of sentences and marks of pages (headings, lists, tags).
  [[nodiscard]] bool is_page() const;

 private:
  long lines_ = 0;
  long sentences_ = 0;
  long marks_ = 0;
};

}  // namespace foretrain
