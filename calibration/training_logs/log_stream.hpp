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

/// The text without escape sequences of terminals (ECMA-48 CSI and OSC), in place. @return its end
[[nodiscard]] std::size_t strip_escapes(char* text, std::size_t size);

/// The text behind "12: ", "[rank3]:", "[default0]:", "(node-1 pid=77)" and such, as srun, torchrun
/// and Ray put them before lines; "[INFO|" and the like stay.
[[nodiscard]] std::string_view without_launcher_prefix(std::string_view text);

}  // namespace foretrain
