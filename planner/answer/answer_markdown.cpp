// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/answer/answer.hpp"
#include "planner/text/format.hpp"
#include "planner/text/text_layout.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

/// "20 % to 45 %", of a bar that has no number beside it.
std::string bar_words(const AnswerBar& bar) {
  return percent_text(bar.from) + " to " + percent_text(bar.to);
}

/// Blanks before a label say that it is part of what stands above.
std::string label_words(const std::string& text) {
  const bool part = text.starts_with("  ");
  return part ? "&emsp;" + markdown_cell(text.substr(text.find_first_not_of(' ')))
              : markdown_cell(text);
}

std::string cell_words(const AnswerCell& cell) {
  const std::string text = label_words(cell.text);
  return cell.tone == Tone::strong && !text.empty() ? "**" + text + "**" : text;
}

std::string code(const std::string& text) { return "`" + text + "`"; }

/// Columns that are bars in every row say nothing that the numbers beside them do not.
bool is_drawn(const AnswerTable& table, std::size_t column) {
  for (const auto& row : table.rows)
    if (!row[column].bar && !row[column].stack && !row[column].text.empty()) return false;
  return true;
}

struct MarkdownOf {
  std::string operator()(const AnswerFacts& facts) const {
    std::string text = "| | |\n|:--|:--|\n";
    for (const AnswerFact& fact : facts.rows) {
      const std::string verdict = fact.verdict.empty() ? "" : "**" + fact.verdict + "** ";
      text += markdown_row({label_words(fact.label), verdict + markdown_cell(fact.text)});
    }
    return text;
  }
  std::string operator()(const AnswerTable& table) const {
    std::vector<std::size_t> shown;
    std::vector<std::string> heads;
    std::vector<std::string> rule;
    for (std::size_t i = 0; i < table.columns.size(); ++i) {
      if (is_drawn(table, i)) continue;
      shown.push_back(i);
      heads.push_back(markdown_cell(table.columns[i].head));
      rule.emplace_back(table.columns[i].align == TextTable::Align::right ? "--:" : ":--");
    }
    std::string text = markdown_row(heads) + markdown_row(rule);
    for (const auto& row : table.rows) {
      std::vector<std::string> cells;
      for (const std::size_t i : shown)
        cells.push_back(row[i].bar ? bar_words(*row[i].bar) : cell_words(row[i]));
      text += markdown_row(cells);
    }
    return text;
  }
  std::string operator()(const AnswerLegend&) const { return ""; }
  std::string operator()(const AnswerLine& line) const {
    // A blank before its end would keep it from being bold.
    const std::string words = line.lead.substr(0, line.lead.find_last_not_of(' ') + 1);
    const std::string lead = words.empty() ? "" : "**" + markdown_cell(words) + "** ";
    return lead + markdown_cell(line.text) + "\n";
  }
  std::string operator()(const AnswerList& list) const {
    std::string text;
    for (const std::string& item : list.items) text += "- " + markdown_cell(item) + "\n";
    return text;
  }
  std::string operator()(const AnswerCode& words) const {
    return (words.label.empty() ? "" : markdown_cell(words.label) + " ") + code(words.text) + "\n";
  }
  std::string operator()(const AnswerPicture&) const { return ""; }
};

std::string head_markdown(const AnswerHead& head) {
  std::string text =
      fmt::format("### {}: {}\n", markdown_cell(head.subject), markdown_cell(head.words));
  if (!head.sentence.empty()) text += "\n" + markdown_cell(head.sentence) + "\n";
  if (!head.figures.empty()) text += "\n| | | |\n|:--|--:|:--|\n";
  for (const HeadFigure& figure : head.figures) {
    std::string beside = figure.band;
    if (!figure.difference.empty()) beside += (beside.empty() ? "" : "; ") + figure.difference;
    text += markdown_row({"**" + markdown_cell(figure.label) + "**", markdown_cell(figure.value),
                          markdown_cell(beside)});
  }
  return text;
}

}  // namespace

std::string answer_markdown(const Answer& answer) {
  std::string text = head_markdown(answer.head);
  for (const AnswerSection& section : answer.sections) {
    std::string body;
    for (const AnswerBlock& block : section.blocks)
      if (const std::string part = std::visit(MarkdownOf{}, block); !part.empty())
        body += "\n" + part;
    if (body.empty()) continue;
    if (!section.title.empty()) text += "\n#### " + markdown_cell(section.title) + "\n";
    text += body;
  }
  if (!answer.head.next.empty()) text += "\nNext: " + code(answer.head.next) + "\n";
  return text + fmt::format("\nforetrain {}{}{}\n", version,
                            answer.head.made_by.empty() ? "" : ", ", answer.head.made_by);
}

}  // namespace foretrain
