// SPDX-License-Identifier: Apache-2.0
#include "scenarios/fields/field_scalar.hpp"

#include <limits>
#include <utility>

#include <fmt/format.h>

#include "scenarios/yaml/diagnostics.hpp"
#include "scenarios/yaml/nearest.hpp"
#include "scenarios/yaml/plausible_range.hpp"

namespace foretrain {
namespace {

constexpr double largest_int = std::numeric_limits<int>::max();

std::string in_field_units(const Field& field, double value) {
  return field.kind == FieldKind::quantity ? format_quantity(value, field.dimension)
                                           : format_number(value);
}

/// What is wrong with a number's size; empty when it is in range.
std::string range_error(const Field& field, double value) {
  const bool whole = field.kind == FieldKind::integer || field.kind == FieldKind::integer_list;
  const PlausibleRange plausible = plausible_range(field.dimension);
  const double max = field.max.value_or(whole ? largest_int : plausible.most);
  const double min = field.min.value_or(whole ? -largest_int : -plausible.most);
  const bool low = value < min || (field.above_min && value == min);
  const bool high = value > max;
  if (!whole && min == 0.0 && value > 0.0 && value < plausible.least)
    return fmt::format("must be {}at least {}", field.above_min ? "" : "0 or ",
                       in_field_units(field, plausible.least));
  if (!low && !high) return {};
  if (field.min && field.min == field.max) return "must be " + in_field_units(field, min);
  if (field.min && field.max && !field.above_min)
    return fmt::format("must be between {} and {}", in_field_units(field, min),
                       in_field_units(field, max));
  if (low)
    return fmt::format("must be {} {}", field.above_min ? "above" : "at least",
                       in_field_units(field, min));
  return fmt::format("must be at most {}", in_field_units(field, max));
}

std::string expected(const Field& field) {
  switch (field.kind) {
    case FieldKind::text:
      return "a text";
    case FieldKind::integer:
      return "an integer";
    case FieldKind::number:
      return "a number";
    case FieldKind::boolean:
      return "true or false";
    case FieldKind::choice:
      return "one of " + joined(field.choices);
    case FieldKind::quantity:
      return fmt::format("a {} such as {}", dimension_name(field.dimension), field.example);
    case FieldKind::integer_list:
      return "a list of integers such as " + field.example;
    case FieldKind::choice_list:
      return fmt::format("a list of any of {}", joined(field.choices));
    case FieldKind::text_list:
      return "a list of texts";
    case FieldKind::group:
      return "a group of keys";
    case FieldKind::list:
      return "a list of groups";
    case FieldKind::tree:
      return "any value";
  }
  return "a value";
}

Parsed<FieldValue> numeric(const Field& field, FieldValue value, const Parsed<double>& parsed) {
  if (!parsed.value) return {{}, parsed.error};
  value.number = *parsed.value;
  const std::string error = range_error(field, value.number);
  if (!error.empty()) return {{}, fmt::format("{}, not {}", error, value.text)};
  return {std::move(value), {}};
}

/// A number, or one with a unit of anything, which is no number as long as nobody says of what.
Parsed<FieldValue> number_or_measure(FieldValue value) {
  const auto plain = parse_number(value.text);
  value.number = plain.value.value_or(std::numeric_limits<double>::quiet_NaN());
  if (plain.value) return {std::move(value), {}};
  for (const Dimension dimension :
       {Dimension::time, Dimension::bytes, Dimension::money, Dimension::power, Dimension::count})
    if (parse_quantity(value.text, dimension).value) return {std::move(value), {}};
  return {{}, plain.error};
}

Parsed<double> as_double(const Parsed<std::int64_t>& parsed) {
  if (!parsed.value) return {{}, parsed.error};
  return {static_cast<double>(*parsed.value), {}};
}

/// A text that is shown in reports, logs and file names: one line, and nothing that acts on them.
Parsed<FieldValue> one_line(FieldValue value) {
  const auto acting = find_acting(value.text);
  if (!acting) return {std::move(value), {}};
  if (*acting == U'\n')
    return {{}, "holds a line end; write it in one line (>- instead of | or >)"};
  return {{}, acting_refusal(*acting)};
}

}  // namespace

std::string_view kind_name(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::null:
      return "nothing";
    case YamlNode::Kind::scalar:
      return "a single value";
    case YamlNode::Kind::sequence:
      return "a list";
    case YamlNode::Kind::map:
      return "a group of keys";
  }
  return "nothing";
}

std::string wrong_type(const Field& field, const YamlNode& node) {
  if (node.is_null())
    return fmt::format("has no value; write {}{}", expected(field),
                       field.required ? "" : ", or leave the key out");
  return fmt::format("must be {}, not {}", expected(field), kind_name(node));
}

Parsed<FieldValue> read_scalar(const Field& field, const YamlNode& node) {
  FieldValue value;
  value.field = &field;
  value.text = node.text;
  value.mark = node.mark;
  if (!node.is_scalar()) return {{}, wrong_type(field, node)};
  const bool bare = field.kind == FieldKind::integer || field.kind == FieldKind::number ||
                    field.kind == FieldKind::boolean;
  if (bare && node.quoted)
    return {{}, fmt::format("{} stands in quotes; write it without them", in_quotes(node.text))};
  switch (field.kind) {
    case FieldKind::integer:
      return numeric(field, value, as_double(parse_integer(node.text)));
    case FieldKind::number:
      return numeric(field, value, parse_number(node.text));
    case FieldKind::quantity:
      return numeric(field, value, parse_quantity(node.text, field.dimension));
    case FieldKind::boolean: {
      const auto parsed = parse_boolean(node.text);
      if (!parsed.value) return {{}, parsed.error};
      value.boolean = *parsed.value;
      return {std::move(value), {}};
    }
    case FieldKind::choice:
      for (const std::string& choice : field.choices)
        if (choice == node.text) return {std::move(value), {}};
      return {{},
              fmt::format("{} is not a legal value{} Legal: {}", in_quotes(node.text),
                          nearest(node.text, field.choices) ? nearest_hint(node.text, field.choices)
                                                            : std::string("."),
                          joined(field.choices))};
    case FieldKind::text:
      if (node.text.empty()) return {{}, "must not be empty"};
      if (field.or_number) return number_or_measure(std::move(value));
      return one_line(std::move(value));
    default:
      return {{}, wrong_type(field, node)};
  }
}

}  // namespace foretrain
