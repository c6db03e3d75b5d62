// SPDX-License-Identifier: Apache-2.0

#include "planner/answer/value_json.hpp"

#include "planner/answer/json_of.hpp"
#include "planner/text/json.hpp"

#include <algorithm>

namespace foretrain {
namespace {

struct JsonOf {
  Json operator()(std::monostate) const { return nullptr; }
  Json operator()(double number) const { return number_or_null(number); }
  Json operator()(const std::vector<Value>& list) const {
    Json array = Json::array();
    for (const Value& value : list) array.push_back(json_of(value));
    return array;
  }
  Json operator()(const std::vector<ValueMember>& members) const {
    Json object = Json::object();
    for (const auto& [key, value] : members) object[key] = json_of(value);
    return object;
  }
  template <class T>
  Json operator()(const T& plain) const {
    return plain;
  }
};

Json object_schema(const ValueRows& rows);

const char* type_name(const ValueRow& row) {
  using enum ValueShape::Kind;
  if (row.get.shape.kind == text) return "string";
  if (row.get.shape.kind == flag) return "boolean";
  return row.get.shape.kind == whole ? "integer" : "number";
}

/// One value, without what is round it: a list, a map, the chance that it is absent.
Json plain_schema(const ValueRow& row) {
  if (row.get.shape.kind == ValueShape::Kind::object) return object_schema(*row.get.shape.parts);
  if (row.get.shape.kind == ValueShape::Kind::any) return Json::object();
  if (row.get.shape.names.size() == 1) return {{"const", row.get.shape.names.front()}};
  if (!row.get.shape.names.empty()) return {{"enum", row.get.shape.names}};
  Json schema{{"type", type_name(row)}};
  if (!row.is_number() || row.measure == Measure::count) return schema;
  schema["minimum"] = 0;
  if (row.measure == Measure::share) schema["maximum"] = 1;
  return schema;
}

void allow_null(Json& schema) {
  if (schema.contains("enum")) schema["enum"].push_back(nullptr);
  if (schema.contains("type")) schema["type"] = Json::array({schema["type"], "null"});
}

Json row_schema(const ValueRow& row, bool in_group) {
  Json schema = plain_schema(row);
  const bool absent = row.get.shape.optionals > (in_group ? 1 : 0) && !row.left_out;
  if (row.get.shape.list) schema = {{"type", "array"}, {"items", std::move(schema)}};
  if (row.get.shape.map) schema = {{"type", "object"}, {"additionalProperties", std::move(schema)}};
  if (absent) allow_null(schema);
  if (!row.meaning.empty()) schema["description"] = row.meaning;
  return schema;
}

Json empty_object() {
  return {{"type", "object"},
          {"required", Json::array()},
          {"additionalProperties", false},
          {"properties", Json::object()}};
}

void require_key(Json& object, const std::string& key) {
  Json& required = object["required"];
  if (std::ranges::find(required, Json(key)) == required.end()) required.push_back(key);
}

/// The schema of the object that a row is in, made with all above it that are not there yet.
Json& place_of(Json& root, const ValueRow& row, const ValueRows& rows) {
  Json* node = &root;
  std::string_view path = row.path;
  std::string so_far;
  for (std::size_t dot = path.find('.'); dot != path.npos; dot = path.find('.')) {
    const std::string key(path.substr(0, dot));
    path.remove_prefix(dot + 1);
    so_far += (so_far.empty() ? "" : ".") + key;
    if (key == "*") continue;
    const bool is_list = path.starts_with('*');
    Json& child = (*node)["properties"][key];
    if (child.is_null()) {
      child = is_list ? Json{{"type", "array"}, {"items", empty_object()}} : empty_object();
      if (std::ranges::find(rows.groups, so_far, &ValueGroup::path) != rows.groups.end())
        allow_null(child);
    }
    const auto list = std::ranges::find(rows.lists, so_far, &ValueList::path);
    if (!row.left_out && (list == rows.lists.end() || !list->left_out)) require_key(*node, key);
    node = is_list ? &child["items"] : &child;
  }
  return *node;
}

Json object_schema(const ValueRows& rows) {
  Json root = empty_object();
  for (const ValueRow& row : rows.rows) {
    Json& object = place_of(root, row, rows);
    const std::string key = row.path.substr(row.path.rfind('.') + 1);
    Json schema = row_schema(row, rows.group_of(row.path) != nullptr);
    if (key == "*") {
      object = std::move(schema);
      continue;
    }
    object["properties"][key] = std::move(schema);
    if (!row.left_out) require_key(object, key);
  }
  return root;
}

}  // namespace

Json json_of(const Value& value) {
  return std::visit(JsonOf{}, static_cast<const Value::variant&>(value));
}

std::string json_text(const Value& value) { return dump(json_of(value)); }

std::string schema_text(const ValueRows& rows) {
  Json schema{{"$schema", "http://json-schema.org/draft-07/schema#"},
              {"$comment", "generated from the rows of the answer"},
              {"title", rows.title}};
  schema.update(object_schema(rows));
  if (!rows.rule.empty()) schema.update(Json::parse(rows.rule));
  return dump(schema);
}

}  // namespace foretrain
