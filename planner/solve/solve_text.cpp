// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "planner/forecast/internal/prediction_tree.hpp"
#include "planner/solve/solve.hpp"
#include "planner/text/format.hpp"
#include "planner/version.hpp"

namespace foretrain {
namespace {

constexpr int label_columns = 24;

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

std::string solve_text(const SolveAnswer& answer, const TextStyle& style) {
  std::string text = toned(answer.name, Tone::strong, style) +
                     fmt::format(": {} (foretrain {})\n\n", name_of(answer.question), version);
  text += hanging("", answer.sentence, style);
  if (!answer.values.empty()) text += "\n";
  for (const SolveValue& value : answer.values)
    text += labelled("  " + value.label, value.text, style, label_columns);
  if (!answer.settings.empty())
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
