// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/answer.hpp"

#include <algorithm>

#include "models/base/require.hpp"
#include "planner/answer/quantity.hpp"

namespace foretrain {

AnswerTable answer_table(const ValueRows& rows, const std::vector<const void*>& objects) {
  AnswerTable table;
  for (const ValueRow& row : rows.rows)
    if (row.in_tables)
      table.columns.push_back(row.is_number() ? number_column(std::string(row.label))
                                              : words_column(std::string(row.label)));
  for (const void* object : objects) {
    std::vector<AnswerCell> cells;
    for (const ValueRow& row : rows.rows)
      if (row.in_tables) cells.emplace_back(quantity_text(row.measure, row.get(object)));
    table.add(std::move(cells));
  }
  return table;
}

AnswerColumn words_column(std::string head) { return {std::move(head), TextTable::Align::left}; }

AnswerColumn number_column(std::string head) { return {std::move(head), TextTable::Align::right}; }

void AnswerTable::add(std::vector<AnswerCell> cells) {
  FORETRAIN_REQUIRE(cells.size() == columns.size());
  rows.push_back(std::move(cells));
}

namespace {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

bool is_empty(const AnswerBlock& block) {
  return std::visit(
      Overloaded{[](const AnswerFacts& facts) { return facts.rows.empty(); },
                 [](const AnswerTable& table) { return table.rows.empty(); },
                 [](const AnswerLegend& legend) { return legend.entries.empty(); },
                 [](const AnswerList& list) { return list.items.empty(); },
                 [](const AnswerPicture& picture) { return picture.scene->items.empty(); },
                 [](const auto& words) { return words.text.empty(); }},
      block);
}

}  // namespace

void Answer::add(AnswerSection section) {
  std::erase_if(section.blocks, is_empty);
  if (!section.blocks.empty()) sections.push_back(std::move(section));
}

void Answer::add(std::string title, AnswerBlock block, AnswerPlace place) {
  add(AnswerSection{std::move(title), {std::move(block)}, place});
}

}  // namespace foretrain
