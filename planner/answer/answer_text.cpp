// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/answer/answer.hpp"

namespace foretrain {
namespace {

using Rows = std::vector<std::vector<std::string>>;

/// A band with its forecast: "   |---o-----|  ".
std::string band_bar(const AnswerBar& bar) {
  const auto at = [&bar](double share) {
    return static_cast<std::size_t>(
        std::clamp(static_cast<int>(std::lround(share * (bar.columns - 1))), 0, bar.columns - 1));
  };
  std::string text(static_cast<std::size_t>(bar.columns), ' ');
  for (std::size_t i = at(bar.from); i <= at(bar.to); ++i) text[i] = '-';
  text[at(bar.from)] = '|';
  text[at(bar.to)] = '|';
  if (*bar.mark >= 0.0) text[at(*bar.mark)] = 'o';
  return text;
}

/// Two halves with the axis between them.
std::string two_sided_bar(const AnswerBar& bar, const TextStyle& style) {
  const double axis = *bar.axis;
  const int left = static_cast<int>(std::lround(axis * (bar.columns - 1)));
  const double low = std::min(bar.from, bar.to);
  const double high = std::max(bar.from, bar.to);
  const double below = axis > 0.0 ? std::min(low, axis) / axis : 1.0;
  const double above = axis < 1.0 ? (std::max(high, axis) - axis) / (1.0 - axis) : 0.0;
  return span_bar(below, 1.0, left, style) + "|" +
         span_bar(0.0, above, bar.columns - 1 - left, style);
}

std::string bar_text(const AnswerBar& bar, const TextStyle& style) {
  if (bar.mark) return band_bar(bar);
  if (bar.axis) return two_sided_bar(bar, style);
  std::string text = span_bar(bar.from, bar.to, bar.columns, style);
  if (bar.broken) text.replace(0, span_bar(0.0, 1.0, 2, style).size(), "//");
  return text;
}

/// Letters, or blocks in the part's colour.
std::string painted(const Paint& paint, char letter, int columns, const TextStyle& style) {
  std::string text;
  for (int i = 0; i < columns; ++i)
    text += style.color && style.unicode ? std::string("█") : std::string(1, letter);
  if (!style.color || columns == 0) return text;
  return fmt::format("\x1b[38;5;{}m{}\x1b[0m", paint.terminal, text);
}

std::string limit_mark(const TextStyle& style) { return style.unicode ? "┃" : "|"; }

std::string stack_text(const AnswerStack& stack, const TextStyle& style) {
  const auto column = [&](double share) {
    return std::clamp(static_cast<int>(std::lround(share * stack.columns)), 0, stack.columns);
  };
  const int limit = std::min(column(stack.limit), stack.columns - 1);
  std::string text;
  int at = 0;
  const auto advance = [&](int to, auto paint) {
    // The mark replaces one column of whatever lies under it.
    if (at <= limit && limit < to) {
      paint(limit - at);
      text += limit_mark(style);
      at = limit + 1;
    }
    if (to > at) paint(to - at);
    at = std::max(at, to);
  };
  double sum = 0.0;
  for (const AnswerStack::Part& part : stack.parts) {
    sum += part.share;
    advance(column(sum), [&](int n) { text += painted(part.paint, part.letter, n, style); });
  }
  advance(stack.columns, [&](int n) { text += std::string(static_cast<std::size_t>(n), ' '); });
  return text;
}

/// @param columns of what is drawn; absent: its own
std::string cell_text(AnswerCell cell, std::optional<int> columns, const TextStyle& style) {
  if (cell.stack) {
    cell.stack->columns = columns.value_or(cell.stack->columns);
    return stack_text(*cell.stack, style);
  }
  if (cell.bar) cell.bar->columns = columns.value_or(cell.bar->columns);
  return toned(cell.bar ? bar_text(*cell.bar, style) : cell.text, cell.tone, style);
}

/// As wide as its columns may be.
AnswerTable fitted(AnswerTable table) {
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    if (const int most = table.columns[i].most; most > 0)
      for (auto& row : table.rows) row[i].text = cut(row[i].text, most);
  return table;
}

/// What is left of the screen for a last column that is drawn.
std::optional<int> room_of_last(const AnswerTable& table, const TextStyle& style) {
  constexpr int least = 8;
  constexpr int most = 100;
  const std::size_t last = table.columns.size() - 1;
  std::vector<int> widths;
  for (const AnswerColumn& column : table.columns) widths.push_back(display_width(column.head));
  for (const auto& row : table.rows) {
    if (!row[last].bar && !row[last].stack) return std::nullopt;
    for (std::size_t i = 0; i < last; ++i)
      widths[i] =
          std::max(widths[i], row[i].bar ? row[i].bar->columns : display_width(row[i].text));
  }
  const int apart = table.tight ? 1 : 2;
  const int taken =
      std::accumulate(widths.begin(), widths.end() - 1, 0) + apart * static_cast<int>(last) + 2;
  return std::clamp(style.width - taken, least, most);
}

Rows rows_of(const AnswerTable& table, const TextStyle& style) {
  Rows rows;
  std::vector<std::string> heads;
  for (const AnswerColumn& column : table.columns) heads.push_back(column.head);
  if (std::any_of(heads.begin(), heads.end(), [](const auto& head) { return !head.empty(); }))
    rows.push_back(std::move(heads));
  const std::optional<int> room = room_of_last(table, style);
  for (const auto& row : table.rows) {
    std::vector<std::string> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(cell_text(row[i], i + 1 == row.size() ? room : std::nullopt, style));
    rows.push_back(std::move(cells));
  }
  return rows;
}

/// Columns one blank apart; the last ones go where there is no room for them.
std::string tight_text(const AnswerTable& table, const Rows& rows, const TextStyle& style) {
  std::vector<int> widths(table.columns.size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]));
  std::size_t shown = 0;
  for (int width = 2; shown < widths.size() && width + widths[shown] <= style.width; ++shown)
    width += 1 + widths[shown];
  std::string text;
  for (const auto& row : rows) {
    std::string line = " ";
    for (std::size_t i = 0; i < shown; ++i)
      line +=
          " " + (table.columns[i].align == TextTable::Align::right ? pad_left(row[i], widths[i])
                                                                   : pad_right(row[i], widths[i]));
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

std::string plain_text(const AnswerTable& table, const Rows& rows, const TextStyle& style) {
  std::vector<TextTable::Align> aligns;
  for (const AnswerColumn& column : table.columns) aligns.push_back(column.align);
  TextTable printed{std::move(aligns)};
  for (const auto& row : rows) printed.add(row);
  return printed.text(style);
}

std::vector<int> widths_of(const Rows& rows) {
  std::vector<int> widths(rows.front().size(), 0);
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i)
      widths[i] = std::max(widths[i], display_width(row[i]) + 2);
  return widths;
}

int sum_of(const std::vector<int>& widths, std::size_t from, std::size_t to) {
  return std::accumulate(widths.begin() + static_cast<std::ptrdiff_t>(from),
                         widths.begin() + static_cast<std::ptrdiff_t>(to), 0);
}

/// The stubs and the columns from `from` to `to`, the first stub cut to `first` columns.
std::string block_of(const AnswerTable& table, const Rows& rows, std::size_t from, std::size_t to,
                     int first, const TextStyle& style) {
  AnswerTable block;
  Rows part(rows.size());
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    if (i >= table.stubs && (i < from || i >= to)) continue;
    block.columns.push_back(table.columns[i]);
    for (std::size_t row = 0; row < rows.size(); ++row)
      part[row].push_back(i == 0 ? cut(rows[row][i], first - 2) : rows[row][i]);
  }
  return plain_text(block, part, style);
}

/// Groups of columns below each other where they have no room beside each other.
std::string grouped_text(const AnswerTable& table, const Rows& rows, const TextStyle& style) {
  const std::vector<int> widths = widths_of(rows);
  const std::size_t columns = widths.size();
  const auto next = [&](std::size_t at) { return std::min(columns, at + table.group); };
  int widest = 0;
  for (std::size_t at = table.stubs; at < columns; at += table.group)
    widest = std::max(widest, sum_of(widths, at, next(at)));
  const int others = sum_of(widths, 1, table.stubs);
  const int first = std::min(widths[0], std::max(12, style.width - others - widest));
  const int room = style.width - first - others;
  std::string text;
  for (std::size_t from = table.stubs; from < columns;) {
    std::size_t to = next(from);
    while (to < columns && sum_of(widths, from, next(to)) <= room) to = next(to);
    text += (text.empty() ? "" : "\n") + block_of(table, rows, from, to, first, style);
    from = to;
  }
  return text;
}

struct TextOf {
  const TextStyle& style;

  std::string operator()(const AnswerFacts& facts) const {
    std::string text;
    for (const AnswerFact& fact : facts.rows) {
      const std::string words = fact.verdict.empty()
                                    ? fact.text
                                    : toned(fact.verdict, fact.tone, style) + " " + fact.text;
      text += facts.folded ? pad_right(fact.label, facts.label_columns) +
                                 cut(words, style.width - facts.label_columns) + "\n"
                           : labelled(fact.label, words, style, facts.label_columns);
    }
    return text;
  }
  std::string operator()(const AnswerTable& whole) const {
    const AnswerTable table = fitted(whole);
    const Rows rows = rows_of(table, style);
    if (table.tight) return tight_text(table, rows, style);
    return table.group > 0 ? grouped_text(table, rows, style) : plain_text(table, rows, style);
  }
  std::string operator()(const AnswerLegend& legend) const {
    std::string text;
    // A blank inside an entry must not become a line break.
    for (const AnswerLegend::Entry& entry : legend.entries)
      text += painted(entry.paint, entry.letter, 1, style) + "=" + entry.label + " ";
    return hanging("    ", text + limit_mark(style) + "=" + legend.limit, style);
  }
  std::string operator()(const AnswerLine& line) const {
    if (line.folded)
      return "  " + toned(cut(line.lead + line.text, style.width - 2), line.tone, style) + "\n";
    return hanging("  " + toned(line.lead, line.tone, style), line.text, style);
  }
  std::string operator()(const AnswerList& list) const {
    std::string text;
    for (const std::string& item : list.items) text += hanging("  - ", item, style);
    return text;
  }
  std::string operator()(const AnswerCode& code) const {
    return hanging_command(code.label.empty() ? " " : "  " + code.label, code.text, style);
  }
  std::string operator()(const AnswerPicture&) const { return ""; }
};

}  // namespace

std::string block_text(const AnswerBlock& block, const TextStyle& style) {
  return std::visit(TextOf{style}, block);
}

std::string answer_text(const Answer& answer, const TextStyle& style) {
  std::string text = head_text(answer.head, style);
  for (const AnswerSection& section : answer.sections) {
    if (section.place == AnswerPlace::pages || section.place == AnswerPlace::screens) continue;
    std::string body;
    for (const AnswerBlock& block : section.blocks) body += block_text(block, style);
    if (body.empty()) continue;
    text += "\n";
    if (!section.title.empty())
      text += hanging("", toned(section.title, Tone::strong, style), style);
    text += body;
  }
  return text;
}

}  // namespace foretrain
