// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "planner/answer/head.hpp"
#include "planner/answer/value_rows.hpp"
#include "planner/scene/scene.hpp"
#include "planner/text/palette.hpp"
#include "planner/text/text_layout.hpp"
#include "planner/text/text_table.hpp"

namespace foretrain {

/// A bar in a cell: shares of its width, in either order.
struct AnswerBar {
  double from = 0.0;
  double to = 0.0;
  std::optional<double> mark{};  ///< the forecast inside a band
  std::optional<double> axis{};  ///< where zero is, of bars that go to both sides
  bool broken = false;           ///< does not begin at zero, so that it carries a break
  int columns = 30;              ///< on a terminal
};

/// Parts beside each other in a cell, with a mark at a limit.
struct AnswerStack {
  struct Part {
    double share = 0.0;  ///< of the width
    Paint paint;
    char letter = '#';  ///< where there are no colours
  };
  std::vector<Part> parts{};
  double limit = 1.0;
  int columns = 44;  ///< on a terminal
};

struct AnswerCell {
  std::string text;
  Tone tone = Tone::plain;
  std::optional<AnswerBar> bar{};  ///< instead of the text
  std::optional<AnswerStack> stack{};

  // Cells are written as the texts that most of them are.
  // NOLINTBEGIN(google-explicit-constructor)
  AnswerCell(std::string words, Tone look = Tone::plain) : text{std::move(words)}, tone{look} {}
  AnswerCell(const char* words) : text{words} {}
  AnswerCell(AnswerBar drawn, Tone look = Tone::plain) : tone{look}, bar{drawn} {}
  AnswerCell(AnswerStack drawn) : stack{std::move(drawn)} {}
  // NOLINTEND(google-explicit-constructor)
};

struct AnswerColumn {
  std::string head;  ///< no line of heads where all are empty
  TextTable::Align align = TextTable::Align::left;
};

/// Columns of words, and columns of numbers, by their heads.
[[nodiscard]] AnswerColumn words_column(std::string head = {});
[[nodiscard]] AnswerColumn number_column(std::string head = {});

struct AnswerTable {
  std::vector<AnswerColumn> columns;
  std::vector<std::vector<AnswerCell>> rows{};
  TextTable::Layout layout{};  ///< on a terminal

  /// @pre as many cells as columns
  void add(std::vector<AnswerCell> cells);
};

/// The columns that people see of objects of these rows (ValueTable::shown()), an object a line.
[[nodiscard]] AnswerTable answer_table(const ValueRows& rows,
                                       const std::vector<const void*>& objects);
template <class T>
[[nodiscard]] AnswerTable answer_table(const ValueTable<T>& table, const std::vector<T>& objects) {
  std::vector<const void*> all;
  for (const T& object : objects) all.push_back(&object);
  return answer_table(table.rows(), all);
}

struct AnswerFact {
  std::string label;
  std::string text;
  std::string verdict{};  ///< before the text: "kept:"
  Tone tone = Tone::plain;
};
/// Labelled lines.
struct AnswerFacts {
  std::vector<AnswerFact> rows{};
  int label_columns = 14;  ///< on a terminal

  void add(std::string label, std::string text) {
    rows.push_back({std::move(label), std::move(text)});
  }
};

/// A sentence; `lead` stands out before it: "warning: ".
struct AnswerLine {
  std::string text;
  std::string lead{};
  Tone tone = Tone::plain;  ///< of the lead
};

/// What the colours and letters of stacks mean.
struct AnswerLegend {
  struct Entry {
    Paint paint;
    char letter;
    std::string label;
  };
  std::vector<Entry> entries{};
  std::string limit{};  ///< what the mark is; empty: there is none
};

struct AnswerList {
  std::vector<std::string> items;
};

/// A command or settings of one, to be copied: on a terminal broken where a shell reads on.
struct AnswerCode {
  std::string text;
  std::string label{};  ///< whose it is, before it
};

/// For pages and windows alone.
struct AnswerPicture {
  std::shared_ptr<const Scene> scene;
  std::string label;    ///< for those who do not see it
  bool titled = false;  ///< the label stands above it, too

  AnswerPicture(Scene drawn, std::string words, bool with_title = false)
      : scene{std::make_shared<const Scene>(std::move(drawn))},
        label{std::move(words)},
        titled{with_title} {}
};

using AnswerBlock = std::variant<AnswerFacts, AnswerTable, AnswerLegend, AnswerLine, AnswerList,
                                 AnswerCode, AnswerPicture>;

/// Who a section is for: a terminal has little room, a page has pictures. What a machine reads is
/// on a page for screens and not printed.
enum class AnswerPlace { everywhere, terminal, pages, screens };

/// Sections without a block that the medium shows are left out.
struct AnswerSection {
  std::string title;  ///< may be empty
  std::vector<AnswerBlock> blocks{};
  AnswerPlace place = AnswerPlace::everywhere;  ///< Markdown has all
  bool folded = false;                          ///< on a page behind its title until it is printed
};

/// What a command says, once for every medium: answer_text(), answer_markdown(), answer_page().
struct Answer {
  AnswerHead head;
  std::vector<AnswerSection> sections{};

  /// Where there is something in it.
  void add(AnswerSection section);
  void add(std::string title, AnswerBlock block, AnswerPlace place = AnswerPlace::everywhere);
};

/// No line is longer than style.width.
[[nodiscard]] std::string answer_text(const Answer& answer, const TextStyle& style = {});
[[nodiscard]] std::string block_text(const AnswerBlock& block, const TextStyle& style = {});
/// GitHub-flavoured Markdown of all sections, without pictures.
[[nodiscard]] std::string answer_markdown(const Answer& answer);

}  // namespace foretrain
