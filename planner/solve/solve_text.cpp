// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/solve/solve.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 24;
constexpr std::size_t most_figures = 4;  // of the head

Json value_tree(const SolveValue& value) {
  return value.number ? number_or_null(value.number) : Json(value.text);
}

std::string table_text(const SolveAnswer& answer, const TextStyle& style) {
  using Align = TextTable::Align;
  std::vector<Align> columns;
  for (std::size_t i = 0; i < answer.heads.size(); ++i)
    columns.push_back(answer.rows.front()[i].number ? Align::right : Align::left);
  TextTable table{std::move(columns)};
  table.add(answer.heads);
  for (const auto& row : answer.rows) {
    std::vector<std::string> cells;
    for (const SolveValue& cell : row) cells.push_back(cell.text);
    table.add(std::move(cells));
  }
  return "\n" + table.text(style);
}

}  // namespace

AnswerHead solve_head(const SolveAnswer& answer, const std::string& source) {
  AnswerHead head;
  head.subject = answer.name;
  head.verdict = answer.found ? Verdict::safe : Verdict::no;
  head.words = answer.found ? name_of(answer.question) : "NO ANSWER";
  if (!answer.found) head.made_by = fmt::format("solve {}", name_of(answer.question));
  head.sentence = answer.sentence;
  for (const SolveValue& value : answer.values)
    if (head.figures.size() < most_figures) head.figures.push_back({value.label, value.text});
  if (!source.empty() && !answer.settings.empty())
    head.next = fmt::format("foretrain simulate {} --set {}", source,
                            fmt::join(answer.settings, " --set "));
  return head;
}

std::string solve_text(const SolveAnswer& answer, const TextStyle& style,
                       const std::string& source) {
  std::string text = head_text(solve_head(answer, source), style);
  if (answer.values.size() > most_figures) text += "\n";
  for (std::size_t i = most_figures; i < answer.values.size(); ++i)
    text += labelled("  " + answer.values[i].label, answer.values[i].text, style, label_columns);
  if (!answer.settings.empty() && source.empty())
    text +=
        "\n" + hanging("  ", fmt::format("--set {}", fmt::join(answer.settings, " --set ")), style);
  if (!answer.rows.empty()) text += table_text(answer, style);
  if (!answer.notes.empty()) text += "\n";
  for (const std::string& note : answer.notes) text += hanging("  ", note + ".", style);
  return text;
}

std::string solve_json(const SolveAnswer& answer) {
  Json values = Json::object();
  for (const SolveValue& value : answer.values) values[value.key] = value_tree(value);
  Json rows = Json::array();
  for (const auto& row : answer.rows) {
    Json tree = Json::object();
    for (const SolveValue& cell : row)
      tree[cell.key] = cell.number || cell.text != "-" ? value_tree(cell) : Json(nullptr);
    rows.push_back(std::move(tree));
  }
  return dump({{"schema", "solve/1"},
               {"foretrain_version", version},
               {"name", answer.name},
               {"question", name_of(answer.question)},
               {"found", answer.found},
               {"answer", answer.sentence},
               {"values", std::move(values)},
               {"set", answer.settings},
               {"trials", std::move(rows)},
               {"notes", answer.notes}});
}

}  // namespace foretrain
