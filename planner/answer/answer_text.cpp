// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/answer/answer.hpp"

namespace foretrain {
namespace {

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
TextCell cell_text(AnswerCell cell, std::optional<int> columns, const TextStyle& style) {
  if (cell.stack) {
    cell.stack->columns = columns.value_or(cell.stack->columns);
    return {stack_text(*cell.stack, style), Tone::plain, true};
  }
  if (!cell.bar) return {std::move(cell.text), cell.tone};
  cell.bar->columns = columns.value_or(cell.bar->columns);
  return {bar_text(*cell.bar, style), cell.tone, true};
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
  const int taken = std::accumulate(widths.begin(), widths.end() - 1, 0) +
                    table.layout.apart * static_cast<int>(last) + 2;
  return std::clamp(style.width - taken, least, most);
}

std::string table_text(const AnswerTable& table, const TextStyle& style) {
  std::vector<TextTable::Align> aligns;
  std::vector<TextCell> heads;
  bool named = false;
  for (const AnswerColumn& column : table.columns) {
    aligns.push_back(column.align);
    heads.emplace_back(column.head);
    named = named || !column.head.empty();
  }
  TextTable printed{std::move(aligns), table.layout};
  if (named) printed.add(std::move(heads));
  const std::optional<int> room = room_of_last(table, style);
  for (const auto& row : table.rows) {
    std::vector<TextCell> cells;
    for (std::size_t i = 0; i < row.size(); ++i)
      cells.push_back(cell_text(row[i], i + 1 == row.size() ? room : std::nullopt, style));
    printed.add(std::move(cells));
  }
  return printed.text(style);
}

struct TextOf {
  const TextStyle& style;

  std::string operator()(const AnswerFacts& facts) const {
    std::string text;
    for (const AnswerFact& fact : facts.rows) {
      const std::string words = fact.verdict.empty()
                                    ? fact.text
                                    : toned(fact.verdict, fact.tone, style) + " " + fact.text;
      text += labelled(fact.label, words, style, facts.label_columns);
    }
    return text;
  }
  std::string operator()(const AnswerTable& table) const { return table_text(table, style); }
  std::string operator()(const AnswerLegend& legend) const {
    std::string text;
    // A blank inside an entry must not become a line break.
    for (const AnswerLegend::Entry& entry : legend.entries)
      text += painted(entry.paint, entry.letter, 1, style) + "=" + entry.label + " ";
    return hanging("    ", text + limit_mark(style) + "=" + legend.limit, style);
  }
  std::string operator()(const AnswerLine& line) const {
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
