// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/solve/solve.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"
#include "planner/text/shell_word.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 24;
constexpr std::size_t most_figures = 4;  // of the head

Json value_tree(const SolveValue& value) {
  return value.number ? number_or_null(value.number) : Json(value.text);
}

AnswerTable trials_table(const SolveAnswer& answer) {
  AnswerTable table;
  for (std::size_t i = 0; i < answer.heads.size(); ++i)
    table.columns.push_back(answer.rows.front()[i].number ? number_column(answer.heads[i])
                                                          : words_column(answer.heads[i]));
  for (const auto& row : answer.rows) {
    std::vector<AnswerCell> cells;
    for (const SolveValue& cell : row) cells.emplace_back(cell.text);
    table.add(std::move(cells));
  }
  return table;
}

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
    head.next = fmt::format("foretrain simulate {} {}", source, set_words(answer.settings));
  return head;
}

}  // namespace

Answer solve_answer(const SolveAnswer& solved, const std::string& source) {
  Answer answer{solve_head(solved, source)};
  AnswerFacts more;
  more.label_columns = label_columns;
  for (std::size_t i = most_figures; i < solved.values.size(); ++i)
    more.add(solved.values[i].label, solved.values[i].text);
  answer.add("", std::move(more));
  if (!solved.settings.empty() && source.empty())
    answer.add("", AnswerCode{set_words(solved.settings)});
  if (!solved.rows.empty()) answer.add("", trials_table(solved));
  AnswerSection notes;
  for (const std::string& note : solved.notes) notes.blocks.emplace_back(AnswerLine{note + "."});
  answer.add(std::move(notes));
  return answer;
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
