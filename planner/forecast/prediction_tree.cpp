// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/internal/prediction_tree.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

/// The text of a resolved value as the type it denotes; units and names stay text.
Json typed(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  const char* end = text.data() + text.size();
  const std::size_t digits = text.starts_with('-') ? 1 : 0;
  const bool padded = text.size() > digits + 1 && text[digits] == '0' && text[digits + 1] != '.';
  const bool numeric = text.size() > digits && text[digits] >= '0' && text[digits] <= '9';
  if (!numeric || padded) return text;
  std::int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc{} && read.ptr == end)
    return whole;
  double real = 0.0;
  if (const auto read = std::from_chars(text.data(), end, real);
      read.ec == std::errc{} && read.ptr == end && std::isfinite(real))
    return number_or_null(real);
  return text;
}

/// Names are text even where one consists of digits: what the table of keys says, and of catalogs.
bool is_text_key(const std::string& path) {
  if (const Field* field = scenario_fields().find(path))
    return field->kind == FieldKind::text || field->kind == FieldKind::choice;
  return path.ends_with(".name") || path.ends_with(".title") || path.ends_with(".source");
}

void insert(Json& tree, std::string_view path, Json value) {
  Json* node = &tree;
  while (true) {
    const std::size_t dot = path.find('.');
    if (!node->is_object()) *node = Json{{"name", *node}};
    Json& child = (*node)[std::string(path.substr(0, dot))];
    if (dot == std::string_view::npos) {
      if (child.is_object() && !child.empty()) {
        child["name"] = std::move(value);
      } else {
        child = std::move(value);
      }
      return;
    }
    if (child.is_null()) child = Json::object();
    node = &child;
    path.remove_prefix(dot + 1);
  }
}

/// Groups that are null where the forecast lacks them as a whole.
struct NullableGroup {
  std::string_view name;
  bool (*known)(const Prediction&);
};
constexpr std::array nullable_groups{
    NullableGroup{"memory", [](const Prediction& p) { return p.memory.has_value(); }},
    NullableGroup{"step", [](const Prediction& p) { return p.step.has_value(); }},
    NullableGroup{"flops", [](const Prediction& p) { return p.flops.has_value(); }},
    NullableGroup{"power", [](const Prediction& p) { return p.power.has_value(); }}};

std::string_view first_word(std::string_view path) { return path.substr(0, path.find('.')); }

bool known_group(std::string_view name, const Prediction& p) {
  return std::ranges::all_of(nullable_groups, [&](const NullableGroup& group) {
    return group.name != name || group.known(p);
  });
}

Json json_of(const QuantityValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag;
  const double* number = std::get_if<double>(&value);
  return number_or_null(number == nullptr ? std::nullopt : std::optional(*number));
}

void add_row(const ForecastQuantity& row, const Prediction& p, Json& tree) {
  for (std::size_t i = 0; i < elements(row, p); ++i) {
    Json value = json_of(row.get(p, i));
    if (!row.left_out || !value.is_null()) json_at(tree, row.path, i) = std::move(value);
  }
}

/// One top-level key of the JSON with its value; no such key: nothing is added.
void add_section(std::string_view name, const Prediction& p, const Quantities& table, Json& tree) {
  for (const QuantityList& list : quantity_lists())
    if (first_word(list.path) == name && list.size(p) == 0 && !list.left_out &&
        known_group(name, p))
      json_at(tree, list.path, 0) = Json::array();
  for (const ForecastQuantity& row : table.rows()) {
    if (first_word(row.path) != name) continue;
    if (!known_group(name, p)) {
      tree[std::string(name)] = nullptr;
      return;
    }
    add_row(row, p, tree);
  }
}

Json tree_of(const Report& report, const Prediction& p, const Quantities& table) {
  Json tree = Json::object();
  std::string_view last;
  for (const ForecastQuantity& row : table.rows()) {
    const std::string_view name = first_word(row.path);
    if (name == last) continue;
    last = name;
    add_section(name, p, table, tree);
    if (name == "foretrain_version") tree["scenario"] = scenario_tree(report.scenario);
  }
  return tree;
}

}  // namespace

Json scenario_tree(const Scenario& scenario) {
  Json tree = Json::object();
  for (const ResolvedValue& value : scenario.values)
    insert(tree, value.path, is_text_key(value.path) ? Json(value.value) : typed(value.value));
  return tree;
}

Json prediction_tree(const Report& report, const Quantities& table) {
  return tree_of(report, as_if_it_fit(report.prediction), table);
}

Json known_tree(const Report& report) { return tree_of(report, report.prediction, quantities()); }

std::optional<Json> prediction_section(const Prediction& prediction, std::string_view name) {
  Json tree = Json::object();
  add_section(name, as_if_it_fit(prediction), quantities(), tree);
  const auto found = tree.find(std::string(name));
  return found == tree.end() ? std::nullopt : std::optional(*found);
}

}  // namespace foretrain
