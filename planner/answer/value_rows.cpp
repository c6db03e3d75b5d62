// SPDX-License-Identifier: Apache-2.0
#include "planner/answer/value_rows.hpp"

#include <algorithm>
#include <charconv>

#include "planner/version.hpp"

namespace foretrain {
namespace {

bool is_below(std::string_view path, std::string_view above) {
  return path.starts_with(above) && path.substr(above.size()).starts_with('.');
}

std::string_view first_word(std::string_view path) { return path.substr(0, path.find('.')); }

Value& member(Value& object, std::string_view key) {
  if (!object.known()) object = Value{std::vector<ValueMember>{}};
  auto& members = std::get<std::vector<ValueMember>>(object);
  const auto found = std::ranges::find(members, key, &ValueMember::key);
  if (found != members.end()) return found->value;
  return members.emplace_back(ValueMember{std::string(key), {}}).value;
}

Value& element(Value& list, std::size_t index) {
  if (!list.known()) list = Value{std::vector<Value>{}};
  auto& values = std::get<std::vector<Value>>(list);
  if (values.size() <= index) values.resize(index + 1);
  return values[index];
}

/// Lists that have nothing in them are there, if the answer has what they are part of.
void add_empty_lists(const ValueRows& rows, const void* object, std::string_view word,
                     Value& tree) {
  for (const ValueList& list : rows.lists) {
    const ValueGroup* group = rows.group_of(list.path);
    const bool known = group == nullptr || group->known(object);
    if (first_word(list.path) == word && known && !list.left_out && list.size(object) == 0)
      value_at(tree, list.path) = Value{std::vector<Value>{}};
  }
}

bool says_nothing(const Value& value) {
  const auto* const list = std::get_if<std::vector<Value>>(&value);
  return !value.known() || (list != nullptr && list->empty());
}

void add_row(const ValueRows& rows, const ValueRow& row, const void* object, Value& tree) {
  if (const ValueGroup* group = rows.group_of(row.path);
      group != nullptr && !group->known(object)) {
    value_at(tree, group->path) = Value{};
    return;
  }
  const std::size_t elements = rows.elements(row, object);
  for (std::size_t i = 0; i < elements; ++i) {
    Value value = row.get(object, i);
    if (!row.left_out || !says_nothing(value)) value_at(tree, row.path, i) = std::move(value);
  }
}

}  // namespace

const ValueList* ValueRows::list_of(const ValueRow& row) const {
  const auto found = std::ranges::find_if(
      lists, [&](const ValueList& list) { return row.path.starts_with(list.path + ".*"); });
  return found == lists.end() ? nullptr : &*found;
}

std::size_t ValueRows::elements(const ValueRow& row, const void* object) const {
  const ValueList* list = list_of(row);
  return list == nullptr ? 1 : list->size(object);
}

const ValueGroup* ValueRows::group_of(std::string_view path) const {
  const auto found = std::ranges::find_if(
      groups, [&](const ValueGroup& group) { return is_below(path, group.path); });
  return found == groups.end() ? nullptr : &*found;
}

Measure measure_by_unit(std::string_view path) {
  const auto names = [&](std::string_view unit) { return path.find(unit) != path.npos; };
  if (names("usd")) return Measure::dollars;
  if (names("_per_s")) return Measure::count;
  if (path.ends_with("_s") || names("_s.")) return Measure::seconds;
  if (names("bytes")) return Measure::bytes;
  for (const char* share : {"within_goals", "busy", "most_cache", "results.chance"})
    if (path.ends_with(share)) return Measure::share;
  return Measure::count;
}

const ValueTable<Infeasible>& reason_values() {
  static const auto table = ValueTable<Infeasible>{}
                                .add("rule", &Infeasible::rule, "Stable name of a rule.")
                                .add("key", &Infeasible::key, "Scenario key to change.")
                                .add("message", &Infeasible::message, "Why it cannot run.")
                                .add("remedy", &Infeasible::remedy, "Smallest change that helps.");
  return table;
}

const ValueTable<Warning>& warning_values() {
  static const auto table = ValueTable<Warning>{}
                                .add("id", &Warning::id, "Stable name of a warning.")
                                .add("message", &Warning::message,
                                     "What is unknown, or was computed outside its fitted range.");
  return table;
}

Value& value_at(Value& tree, std::string_view path, std::size_t index) {
  Value* node = &tree;
  while (true) {
    const std::size_t dot = path.find('.');
    const std::string_view key = path.substr(0, dot);
    node = key == "*" ? &element(*node, index) : &member(*node, key);
    if (dot == std::string_view::npos) return *node;
    path.remove_prefix(dot + 1);
  }
}

Value value_of_rows(const ValueRows& rows, const void* object, std::string_view word) {
  Value tree{std::vector<ValueMember>{}};
  std::string_view last;
  for (const ValueRow& row : rows.rows) {
    const std::string_view first = first_word(row.path);
    if (!word.empty() && first != word) continue;
    if (first != last) add_empty_lists(rows, object, first, tree);
    last = first;
    add_row(rows, row, object, tree);
  }
  return tree;
}

namespace internal {

ValueRows document_rows(std::string_view schema, std::string title) {
  const auto text_row = [](std::string path, std::string_view text, std::string_view meaning) {
    return ValueRow{std::move(path),
                    {},
                    Measure::text,
                    read<char>([text](const char&) { return text; }),
                    meaning};
  };
  ValueRows document;
  document.title = std::move(title);
  document.rows = {text_row("schema", schema, "Name and version of this JSON format."),
                   text_row("foretrain_version", version, "Version of the program that wrote it.")};
  document.rows.front().get.shape.names = {schema};
  return document;
}

}  // namespace internal
}  // namespace foretrain
