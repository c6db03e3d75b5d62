// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/reference.hpp"

#include <fmt/format.h>

#include "scenarios/yaml/diagnostics.hpp"

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

}  // namespace foretrain
