// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foretrain {

/// What the reader's screen can show.
struct TextStyle {
  int width = 80;        ///< columns; no line is longer. @pre >= 60
  bool unicode = false;  ///< block characters in bars
  bool color = false;    ///< ANSI colours
};

/// Columns that UTF-8 text takes: code points, colour sequences not counted.
[[nodiscard]] int display_width(std::string_view text);
[[nodiscard]] std::string pad_right(std::string_view text, int columns);
[[nodiscard]] std::string pad_left(std::string_view text, int columns);
/// Cuts to `columns`, the last three of them "..." when something was cut.
[[nodiscard]] std::string cut(std::string_view text, int columns);

/// Breaks at blanks into lines of at most `columns`; longer words are cut into pieces.
/// An empty text gives one empty line. @pre columns >= 1
[[nodiscard]] std::vector<std::string> wrap(std::string_view text, int columns);

/// `label` in a column of its own, then `text` wrapped beside it; ends with a line feed.
[[nodiscard]] std::string labelled(std::string_view label, std::string_view text,
                                   const TextStyle& style, int label_columns = 14);
/// `text` wrapped behind `first`, following lines indented as deep; ends with a line feed.
/// @pre `first` leaves at least 8 columns
[[nodiscard]] std::string hanging(std::string_view first, std::string_view text,
                                  const TextStyle& style);

/// As hanging(), of a command that can be copied: lines end where a shell reads on, before an
/// option or another word, and in a word without quotes that is longer than a line.
[[nodiscard]] std::string hanging_command(std::string_view first, const std::string& command,
                                          const TextStyle& style);

enum class Tone { plain, strong, dim, good, bad, warn };
/// `text` in a colour that fits, or as it is.
[[nodiscard]] std::string toned(std::string_view text, Tone tone, const TextStyle& style);

/// A bar from `start` to `end` (shares of `cells` columns, 0..1, in either order), padded to
/// `cells`. A span that is not empty shows at least one mark.
[[nodiscard]] std::string span_bar(double start, double end, int cells, const TextStyle& style);

/// Text in GitHub-flavoured Markdown, on one line, without a meaning for its characters.
[[nodiscard]] std::string markdown_cell(const std::string& text);
/// "| a | b |\n" of cells that are escaped already.
[[nodiscard]] std::string markdown_row(const std::vector<std::string>& cells);

}  // namespace foretrain
