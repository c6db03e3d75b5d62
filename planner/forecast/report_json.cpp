// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_json.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <utility>

#include "planner/answer/json_of.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

/// The text of a resolved value as the type it denotes; units and names stay text.
Value typed(const std::string& text) {
  if (text == "true") return Value{true};
  if (text == "false") return Value{false};
  const char* end = text.data() + text.size();
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool padded = text.size() > digits + 1 && text[digits] == '0' && text[digits + 1] != '.';
  const bool numeric = text.size() > digits && text[digits] >= '0' && text[digits] <= '9';
  if (!numeric || padded) return Value{text};
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return value_of(whole);
  double real = 0.0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc{} && read.ptr == end && std::isfinite(real))
    return Value{real};
  return Value{text};
}

/// Names are text even where one consists of digits: what the table of keys says, and of catalogs.
bool is_text_key(const std::string& path) {
  if (const Field* field = scenario_fields().find(path))
    return field->kind == FieldKind::text || field->kind == FieldKind::choice;
  return path.ends_with(".name") || path.ends_with(".title") || path.ends_with(".source");
}

bool is_object(const Value& value) {
  return std::holds_alternative<std::vector<ValueMember>>(value);
}

void insert(Value& tree, std::string_view path, Value value) {
  Value* node = &tree;
  while (true) {
    const std::size_t dot = path.find('.');
    if (node->known() && !is_object(*node))
      *node = Value{std::vector<ValueMember>{{"name", std::move(*node)}}};
    Value& child = value_at(*node, path.substr(0, dot));
    if (dot == std::string_view::npos) {
      (is_object(child) ? value_at(child, "name") : child) = std::move(value);
      return;
    }
    node = &child;
    path.remove_prefix(dot + 1);
  }
}

const Prediction& prediction_of(const Forecasted& forecast) { return forecast.prediction; }

Json tree_of(const Forecasted& forecast) {
  static const ValueTable<Forecasted> table = report_values();
  return json_of(table.of(forecast));
}

}  // namespace

Value scenario_value(const Scenario& scenario) {
  Value tree{std::vector<ValueMember>{}};
  for (const ResolvedValue& value : scenario.values)
    insert(tree, value.path, is_text_key(value.path) ? Value{value.value} : typed(value.value));
  return tree;
}

ValueTable<Forecasted> report_values(const Quantities& table) {
  ValueTable<Forecasted> values;
  values.title("foretrain simulate --json, schema prediction/1; null is unknown", R"({
    "if": {"properties": {"feasible": {"const": true}}},
    "then": {"properties": {"reasons": {"maxItems": 0}, "memory": {"type": "object"}, "step": {"type": "object"}}},
    "else": {"properties": {"reasons": {"minItems": 1}}}})");
  std::string_view last;
  for (const ValueRow& row : table.rows()) {
    const std::string_view path = row.path;
    const std::string_view word = path.substr(0, path.find('.'));
    if (std::exchange(last, word) == word) continue;
    values.add_from(table.table(), word, prediction_of);
    if (word == "foretrain_version")
      values.add(
          "scenario", [](const Forecasted& forecast) { return scenario_value(*forecast.scenario); },
          "Every value that the forecast was made from, by its key.");
  }
  return values;
}

Json prediction_tree(const Report& report, const Quantities& table) {
  const Forecasted forecast{&report.scenario, as_if_it_fit(report.prediction)};
  return &table == &quantities() ? tree_of(forecast) : json_of(report_values(table).of(forecast));
}

Json known_tree(const Report& report) { return tree_of({&report.scenario, report.prediction}); }

std::string report_json(const Report& report) { return dump(prediction_tree(report)); }

}  // namespace foretrain
