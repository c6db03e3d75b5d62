// SPDX-License-Identifier: Apache-2.0

#include "scenarios/fields/reference.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <span>

#include "models/base/require.hpp"
#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/units_text.hpp"

namespace foretrain {
namespace {

std::string bound(const Field& field, double value) {
  return field.kind == FieldKind::quantity ? format_quantity(value, field.dimension)
                                           : format_number(value);
}

std::string range(const Field& field) {
  if (field.min && field.min == field.max) return ", always " + bound(field, *field.min);
  if (field.min && field.max && !field.above_min)
    return fmt::format(", {} to {}", bound(field, *field.min), bound(field, *field.max));
  std::string result;
  if (field.min)
    result +=
        fmt::format(", {} {}", field.above_min ? "above" : "at least", bound(field, *field.min));
  if (field.max) result += ", at most " + bound(field, *field.max);
  return result;
}

std::string default_of(const Field& field) {
  if (field.required) return "**required**";
  if (field.default_text.empty()) return "none";
  return "`" + field.default_text + "`";
}

std::string row(const Field& field) {
  const std::string example =
      field.example.empty() ? std::string() : fmt::format(" E.g. `{}`.", field.example);
  return fmt::format("| `{}` | {} | {} | {}{} |\n", field.path, legal_text(field),
                     default_of(field), field.help, example);
}

constexpr std::string_view table_head = "| key | value | default | meaning |\n|---|---|---|---|\n";

/// Rows of everything below `group`, depth first.
std::string rows_below(const FieldTable& table, const std::string& group) {
  std::string result;
  for (const Field* child : table.children(group)) {
    result += row(*child);
    if (child->kind == FieldKind::group) result += rows_below(table, child->path);
    if (child->kind == FieldKind::list) result += rows_below(table, child->path + "[]");
  }
  return result;
}

}  // namespace

std::string legal_text(const Field& field) {
  switch (field.kind) {
    case FieldKind::text:
      if (field.or_number) return "number, or number and unit";
      return field.entry != nullptr ? "text, or a group" : "text";
    case FieldKind::integer:
      return "integer" + range(field);
    case FieldKind::number:
      return "number" + range(field);
    case FieldKind::boolean:
      return "`true` or `false`";
    case FieldKind::choice:
    case FieldKind::choice_list: {
      std::string result = field.kind == FieldKind::choice ? "" : "list of ";
      const std::size_t start = result.size();
      for (const std::string& choice : field.choices)
        result += (result.size() == start ? "`" : ", `") + choice + "`";
      return result;
    }
    case FieldKind::quantity: {
      const bool count = field.dimension == Dimension::count;
      return fmt::format("{} in {}{}", dimension_name(field.dimension), count ? "units or " : "",
                         unit_list(field.dimension)) +
             range(field);
    }
    case FieldKind::integer_list:
      return "list of integers" + range(field);
    case FieldKind::text_list:
      return "list of texts, or one text";
    case FieldKind::group:
      return "group";
    case FieldKind::list:
      return "list of groups";
    case FieldKind::tree:
      return "any";
  }
  return {};
}

std::string reference_page(const FieldTable& table) {
  std::string top;
  std::string sections;
  for (const Field* field : table.children("")) {
    const bool list = field->kind == FieldKind::list;
    if (field->kind != FieldKind::group && !list) {
      top += row(*field);
      continue;
    }
    sections += fmt::format("\n## {}\n\n{}{}\n\n{}{}", field->path, field->help,
                            field->required ? " Required." : "", table_head,
                            rows_below(table, field->path + (list ? "[]" : "")));
  }
  return fmt::format(
      "<!-- Generated from the field table; a test compares. Do not edit. -->\n"
      "# {}\n\n"
      "Every key, from the same table that the reader checks files against. Values with a unit are "
      "written as a number, a blank and the unit. A default of \"none\" means that nothing is "
      "assumed. A key that is not listed here is an error.\n\n"
      "## Top level\n\n{}{}{}",
      table.title(), table_head, top, sections);
}

namespace {

using Json = nlohmann::ordered_json;

const std::string number_pattern = "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

/// Regular expression of the texts that parse_quantity() takes, but for the range of a double.
std::string quantity_pattern(Dimension dimension) {
  std::string units;
  for (const std::span<const Unit> known : {units_of(dimension), words_of(dimension)})
    for (const Unit& unit : known) {
      if (unit.name.empty()) continue;
      if (!units.empty()) units += '|';
      units += unit.name;
    }
  return "^" + number_pattern + "( ?(" + units + "))" +
         (dimension == Dimension::count ? "?$" : "$");
}

Json typed(const Field& field, const std::string& text) {
  switch (field.kind) {
    case FieldKind::integer:
      return *parse_integer(text).value;
    case FieldKind::number:
      return *parse_number(text).value;
    case FieldKind::boolean:
      return *parse_boolean(text).value;
    default:
      return text;
  }
}

void add_range(Json& schema, const Field& field) {
  const auto number = [&](double value) -> Json {
    if (field.kind == FieldKind::number) return value;
    return static_cast<std::int64_t>(value);
  };
  if (field.min) schema[field.above_min ? "exclusiveMinimum" : "minimum"] = number(*field.min);
  if (field.max) schema["maximum"] = number(*field.max);
}

Json value_schema(const Field& field) {
  Json schema;
  switch (field.kind) {
    case FieldKind::text:
      schema = {{"type", "string"}, {"minLength", 1}};
      if (field.or_number)
        schema = {{"type", {"string", "number"}},
                  {"pattern", "^" + number_pattern + "( ?[A-Za-z]+( [A-Z]+)?)?$"}};
      break;
    case FieldKind::integer:
      schema["type"] = "integer";
      add_range(schema, field);
      break;
    case FieldKind::number:
      schema["type"] = "number";
      add_range(schema, field);
      break;
    case FieldKind::boolean:
      schema["type"] = "boolean";
      break;
    case FieldKind::choice:
      schema["enum"] = field.choices;
      break;
    case FieldKind::quantity:
      if (field.dimension == Dimension::count)
        schema["type"] = {"string", "number"};
      else
        schema["type"] = "string";
      schema["pattern"] = quantity_pattern(field.dimension);
      break;
    case FieldKind::integer_list:
      schema["type"] = "array";
      schema["items"]["type"] = "integer";
      add_range(schema["items"], field);
      break;
    case FieldKind::choice_list:
      schema["type"] = "array";
      schema["items"]["enum"] = field.choices;
      break;
    case FieldKind::text_list:
      schema["type"] = {"array", "string"};
      schema["items"] = {{"type", "string"}, {"minLength", 1}};
      break;
    case FieldKind::group:
    case FieldKind::list:
    case FieldKind::tree:
      break;
  }
  return schema;
}

Json field_schema(const FieldTable& table, const Field& field);

Json object_schema(const FieldTable& table, const std::string& group) {
  Json schema = {{"type", "object"}, {"additionalProperties", false}};
  for (const Field* child : table.children(group))
    schema["properties"][std::string(leaf_name(child->path))] = field_schema(table, *child);
  return schema;
}

/// The keys that must be present in a group and the groups below it; null for none. Kept apart from
/// the properties so that a file with `extends` can do without.
Json required_schema(const FieldTable& table, const std::string& group) {
  Json schema;
  for (const Field* child : table.children(group)) {
    const std::string name(leaf_name(child->path));
    if (child->required && child->unless.empty()) schema["required"].push_back(name);
    if (!child->unless.empty())
      schema["anyOf"] = Json::array({{{"required", {name}}}, {{"required", {child->unless}}}});
    if (child->kind != FieldKind::group) continue;
    const Json below = required_schema(table, child->path);
    if (!below.is_null()) schema["properties"][name] = below;
  }
  return schema;
}

Json group_schema(const FieldTable& table, const Field& field) {
  Json object = object_schema(table, field.path);
  if (!field.required) object["type"] = {"object", "null"};
  if (field.scalar_child.empty()) return object;
  const Field* child = table.find(field.path + "." + field.scalar_child);
  FORETRAIN_REQUIRE(child != nullptr);
  return {{"anyOf", Json::array({value_schema(*child), object})}};
}

Json list_schema(const FieldTable& table, const Field& field) {
  Json items = object_schema(table, field.path + "[]");
  const Json required = required_schema(table, field.path + "[]");
  if (required.contains("required")) items["required"] = required["required"];
  return {{"type", {"array", "null"}}, {"items", items}};
}

/// The name of an entry, or the entry itself.
Json entry_schema(const Field& field) {
  Json object = object_schema(field.entry(), "");
  const Json required = required_schema(field.entry(), "");
  if (!required.is_null()) object["allOf"] = Json::array({required});
  return {{"anyOf", Json::array({value_schema(field), object})}};
}

Json field_schema(const FieldTable& table, const Field& field) {
  Json schema = {{"description", field.help}};
  if (field.kind == FieldKind::group)
    schema.update(group_schema(table, field));
  else if (field.kind == FieldKind::list)
    schema.update(list_schema(table, field));
  else if (field.entry != nullptr)
    schema.update(entry_schema(field));
  else
    schema.update(value_schema(field));
  if (!field.default_text.empty()) schema["default"] = typed(field, field.default_text);
  return schema;
}

}  // namespace

std::string schema_json(const FieldTable& table) {
  Json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                 {"$comment", "generated from the keys"},
                 {"title", table.title()}};
  schema.update(object_schema(table, ""));
  const Json required = required_schema(table, "");
  if (!required.is_null()) {
    if (table.find("extends") && table.find("schema")) {
      schema["required"] = {"schema"};
      schema["anyOf"] = Json::array({{{"required", {"extends"}}}, required});
    } else {
      schema["allOf"] = Json::array({required});
    }
  }
  return schema.dump(2) + "\n";
}

}  // namespace foretrain
