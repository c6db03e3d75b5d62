// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "planner/text/text_layout.hpp"

namespace foretrain {

struct TextCell {
  std::string text;
  Tone tone = Tone::plain;
  bool drawn = false;  ///< a bar: as it is, never over several lines

  // Cells are written as the texts that most of them are.
  // NOLINTBEGIN(google-explicit-constructor)
  TextCell(std::string words, Tone look = Tone::plain, bool is_drawn = false)
      : text{std::move(words)}, tone{look}, drawn{is_drawn} {}
  TextCell(const char* words) : text{words} {}
  // NOLINTEND(google-explicit-constructor)
};

/// Rows of text in aligned columns, of which nothing is ever lost: where the screen is too narrow
/// words wrap within their column, and columns that still have no room stand below the others.
class TextTable {
 public:
  enum class Align { left, right };
  struct Layout {
    int apart = 2;          ///< blanks between columns
    std::size_t stubs = 1;  ///< first columns, which every block of columns repeats
    std::size_t group = 1;  ///< columns that stay together
  };

  explicit TextTable(std::vector<Align> columns) : TextTable(std::move(columns), Layout{}) {}
  TextTable(std::vector<Align> columns, Layout layout)
      : columns_{std::move(columns)}, layout_{layout} {}
  /// @pre as many cells as columns
  void add(std::vector<TextCell> cells);
  /// Every row indented by two blanks, at most style.width wide, ending with a line feed.
  [[nodiscard]] std::string text(const TextStyle& style) const;

 private:
  std::vector<Align> columns_;
  Layout layout_;
  std::vector<std::vector<TextCell>> rows_;
};

}  // namespace foretrain
