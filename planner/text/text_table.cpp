// SPDX-License-Identifier: Apache-2.0
#include "planner/text/text_table.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <string_view>

#include "models/base/require.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;
using Rows = std::vector<std::vector<TextCell>>;

/// Columns of words are no narrower unless nothing else helps; words break where that keeps the
/// columns together.
constexpr int narrowest_words = 16;
constexpr int narrowest = 6;
constexpr int indent = 2;

/// Some columns of a table, each as wide as it is shown.
struct Block {
  std::vector<std::size_t> columns;
  std::vector<int> widths;

  [[nodiscard]] int width(int apart) const {
    const int gaps = apart * (static_cast<int>(columns.size()) - 1);
    return indent + gaps + std::accumulate(widths.begin(), widths.end(), 0);
  }
};

int natural_width(const Rows& rows, std::size_t column) {
  int width = 0;
  for (const auto& row : rows) width = std::max(width, display_width(row[column].text));
  return width;
}

bool wraps(const Rows& rows, std::size_t column) {
  return std::none_of(rows.begin(), rows.end(),
                      [column](const auto& row) { return row[column].drawn; });
}

Block block_of(const Rows& rows, std::vector<std::size_t> columns) {
  Block block{std::move(columns), {}};
  for (const std::size_t column : block.columns)
    block.widths.push_back(natural_width(rows, column));
  return block;
}

int longest_word(const Rows& rows, std::size_t column) {
  int longest = narrowest_words;
  for (const auto& row : rows)
    for (std::string_view rest = row[column].text; !rest.empty();) {
      const std::size_t end = std::min(rest.find(' '), rest.size());
      longest = std::max(longest, display_width(rest.substr(0, end)));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return longest;
}

/// Takes from the widest of `columns`, positions in the block, until the block fits; from none
/// below what `least` gives for its number. @return whether it fits
bool narrow(Block& block, std::vector<std::size_t> columns, const auto& least, int apart,
            int room) {
  const auto least_at = [&](std::size_t at) { return least(block.columns[at]); };
  std::erase_if(columns, [&](std::size_t at) { return block.widths[at] <= least_at(at); });
  for (int excess = block.width(apart) - room; excess > 0 && !columns.empty();
       excess = block.width(apart) - room) {
    const auto widest = std::max_element(
        columns.begin(), columns.end(),
        [&](std::size_t a, std::size_t b) { return block.widths[a] < block.widths[b]; });
    int next = 0;
    for (const std::size_t at : columns)
      if (at != *widest) next = std::max(next, block.widths[at] - 1);
    int& width = block.widths[*widest];
    const int end = least_at(*widest);
    width = std::max({end, width - excess, std::min(next, width - 1)});
    if (width == end) columns.erase(widest);
  }
  return block.width(apart) <= room;
}

std::vector<std::size_t> positions(const Block& block, const auto& wanted) {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < block.columns.size(); ++at)
    if (wanted(block.columns[at])) found.push_back(at);
  return found;
}

/// Line by line: cells of several lines begin on the first.
std::string row_text(const std::vector<TextCell>& row, const Block& block,
                     const std::vector<Align>& aligns, int apart, const TextStyle& style) {
  std::vector<std::vector<std::string>> lines;
  std::size_t height = 1;
  for (std::size_t at = 0; at < block.columns.size(); ++at) {
    const std::string& text = row[block.columns[at]].text;
    const bool fits = display_width(text) <= block.widths[at];
    lines.push_back(fits ? std::vector{text} : wrap(text, block.widths[at]));
    height = std::max(height, lines.back().size());
  }
  std::string result;
  for (std::size_t line = 0; line < height; ++line) {
    std::string text;
    int gap = indent;  // blanks that nothing has followed yet
    for (std::size_t at = 0; at < block.columns.size(); ++at) {
      const std::string words = line < lines[at].size() ? lines[at][line] : "";
      const int blank = block.widths[at] - display_width(words);
      const bool right = aligns[block.columns[at]] == Align::right;
      if (!words.empty()) {
        text += std::string(static_cast<std::size_t>(gap + (right ? blank : 0)), ' ') +
                toned(words, row[block.columns[at]].tone, style);
        gap = right ? apart : blank + apart;
      } else {
        gap += block.widths[at] + apart;
      }
    }
    const std::size_t end = text.find_last_not_of(' ');
    result += text.substr(0, end == std::string::npos ? 0 : end + 1) + "\n";
  }
  return result;
}

std::vector<std::size_t> range(std::size_t from, std::size_t to) {
  std::vector<std::size_t> numbers(to - from);
  std::iota(numbers.begin(), numbers.end(), from);
  return numbers;
}

/// Groups of columns below each other, each block of them behind the stubs.
std::vector<Block> stacked(const Rows& rows, std::size_t columns, const TextTable::Layout& layout,
                           int room) {
  const std::size_t stubs = std::min(layout.stubs, columns - 1);
  std::vector<Block> blocks;
  const auto next = [&](std::size_t at) { return std::min(columns, at + layout.group); };
  const auto behind_stubs = [&](std::size_t from, std::size_t to) {
    std::vector<std::size_t> numbers = range(0, stubs);
    for (std::size_t column = from; column < to; ++column) numbers.push_back(column);
    Block block = block_of(rows, std::move(numbers));
    const std::size_t words = std::min<std::size_t>(1, stubs);
    narrow(
        block, positions(block, [&](std::size_t c) { return c < words && wraps(rows, c); }),
        [&](std::size_t c) { return longest_word(rows, c); }, layout.apart, room);
    return block;
  };
  for (std::size_t from = stubs; from < columns;) {
    std::size_t to = next(from);
    while (to < columns && behind_stubs(from, next(to)).width(layout.apart) <= room) to = next(to);
    blocks.push_back(behind_stubs(from, to));
    from = to;
  }
  return blocks;
}

}  // namespace

void TextTable::add(std::vector<TextCell> cells) {
  FORETRAIN_REQUIRE(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string TextTable::text(const TextStyle& style) const {
  if (rows_.empty()) return {};
  const auto words = [this](std::size_t c) {
    return columns_[c] == Align::left && wraps(rows_, c);
  };
  std::vector<Block> blocks{block_of(rows_, range(0, columns_.size()))};
  Block& whole = blocks.front();
  const auto whole_words = [this](std::size_t c) { return longest_word(rows_, c); };
  const auto any = [](std::size_t) { return narrowest; };
  const auto few = [](std::size_t) { return narrowest_words; };
  if (!narrow(whole, positions(whole, words), whole_words, layout_.apart, style.width) &&
      !narrow(whole, positions(whole, words), few, layout_.apart, style.width) &&
      columns_.size() > 1)
    blocks = stacked(rows_, columns_.size(), layout_, style.width);
  std::string text;
  for (Block& block : blocks) {
    narrow(block, positions(block, words), whole_words, layout_.apart, style.width);
    narrow(block, positions(block, words), any, layout_.apart, style.width);
    narrow(block, positions(block, [this](std::size_t c) { return wraps(rows_, c); }), any,
           layout_.apart, style.width);
    if (!text.empty()) text += "\n";
    for (const auto& row : rows_) text += row_text(row, block, columns_, layout_.apart, style);
  }
  return text;
}

}  // namespace foretrain
