// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/field_table.hpp"

#include "models/base/require.hpp"

namespace foretrain {
namespace {

const std::vector<const Field*> no_fields;

}  // namespace

std::string table_path(std::string_view path) {
  std::string result;
  bool inside = false;
  for (const char c : path) {
    if (c == ']') inside = false;
    if (!inside) result += c;
    if (c == '[') inside = true;
  }
  return result;
}

std::string_view leaf_name(std::string_view path) {
  const auto dot = path.rfind('.');
  return dot == std::string_view::npos ? path : path.substr(dot + 1);
}

std::string child_path(std::string_view group, std::string_view key) {
  return group.empty() ? std::string(key) : std::string(group) + "." + std::string(key);
}

FieldTable::FieldTable(std::string title, std::vector<Field> fields)
    : title_(std::move(title)), fields_(std::move(fields)) {
  children_[""];
  for (const Field& field : fields_) {
    FORETRAIN_REQUIRE(by_path_.emplace(field.path, &field).second);
    const bool has_choices =
        field.kind == FieldKind::choice || field.kind == FieldKind::choice_list;
    FORETRAIN_REQUIRE(has_choices == !field.choices.empty());
    FORETRAIN_REQUIRE((field.kind == FieldKind::quantity) == (field.dimension != Dimension::none));
    const auto dot = field.path.rfind('.');
    const std::string group = dot == std::string::npos ? "" : field.path.substr(0, dot);
    FORETRAIN_REQUIRE(children_.count(group) == 1);
    children_[group].push_back(&field);
    if (field.kind == FieldKind::group) children_[field.path];
    if (field.kind == FieldKind::list) children_[field.path + "[]"];
  }
}

const Field* FieldTable::find(std::string_view path) const {
  const auto found = by_path_.find(table_path(path));
  return found == by_path_.end() ? nullptr : found->second;
}

const std::vector<const Field*>& FieldTable::children(std::string_view group) const {
  const auto found = children_.find(table_path(group));
  return found == children_.end() ? no_fields : found->second;
}

std::vector<std::string> FieldTable::child_names(std::string_view group) const {
  std::vector<std::string> result;
  for (const Field* field : children(group)) result.emplace_back(leaf_name(field->path));
  return result;
}

}  // namespace foretrain
