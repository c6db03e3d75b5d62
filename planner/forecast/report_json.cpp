// SPDX-License-Identifier: Apache-2.0

#include "planner/forecast/report_json.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "planner/answer/json_of.hpp"
#include "planner/answer/value_csv.hpp"
#include "planner/forecast/measured_run.hpp"
#include "scenarios/sections/scenario_fields.hpp"

namespace foretrain {
namespace {

struct Column {
  std::string name;
  std::function<Value(const Report&)> get;
};

/// A column that is a path of the JSON, dots replaced by underscores.
Column quantity_column(const ValueRow& row) {
  std::string name = row.path;
  std::ranges::replace(name, '.', '_');
  return {name, [&row](const Report& report) { return row.get(&report.prediction); }};
}

std::string joined_ids(const Report& report) {
  std::string result;
  for (const Warning& warning : report.prediction.warnings)
    result += (result.empty() ? "" : ";") + warning.id;
  return result;
}

std::string joined_rules(const Report& report) {
  std::string result;
  for (const Infeasible& reason : report.prediction.reasons)
    result += (result.empty() ? "" : ";") + reason.rule;
  return result;
}

void add_job_columns(std::vector<Column>& columns) {
  const auto add = [&](std::string name, auto text) {
    columns.push_back(
        {std::move(name), [text](const Report& r) { return value_of(text(r.scenario.job)); }});
  };
  add("name", [](const Job& j) { return j.name; });
  add("model", [](const Job& j) { return j.model.name; });
  add("device", [](const Job& j) { return j.cluster.host.device.name; });
  add("host", [](const Job& j) { return j.cluster.host.name; });
  add("network", [](const Job& j) { return j.cluster.network.preset; });
  add("gpus", [](const Job& j) { return j.cluster.gpus(); });
  add("tensor", [](const Job& j) { return j.parallel.tensor; });
  add("sequence_parallel", [](const Job& j) { return j.parallel.sequence; });
  add("context", [](const Job& j) { return j.parallel.context; });
  add("pipeline", [](const Job& j) { return j.parallel.pipeline; });
  add("virtual_stages", [](const Job& j) { return j.parallel.virtual_stages; });
  add("schedule", [](const Job& j) { return j.parallel.schedule; });
  add("expert", [](const Job& j) { return j.parallel.expert; });
  add("data", [](const Job& j) { return j.parallel.data; });
  add("zero", [](const Job& j) { return j.parallel.zero; });
  add("sequence_tokens", [](const Job& j) { return j.training.sequence; });
  add("micro_batch", [](const Job& j) { return j.training.micro_batch; });
  add("global_batch", [](const Job& j) { return j.training.global_batch; });
  add("precision", [](const Job& j) { return j.training.precision; });
  add("recompute", [](const Job& j) { return j.memory.recompute.kind; });
  add("stack", [](const Job& j) { return j.stack.name; });
  add("site", [](const Job& j) { return j.site.name; });
}

std::vector<Column> columns(const Quantities& table) {
  std::vector<Column> result;
  add_job_columns(result);
  for (const ValueRow& row : table.rows()) {
    if (row.path == "memory.capacity_bytes")
      result.push_back({"reasons", [](const Report& r) { return value_of(joined_rules(r)); }});
    if (!row.in_list() && row.path != "schema" && !row.path.starts_with("provenance."))
      result.push_back(quantity_column(row));
  }
  result.push_back({"warnings", [](const Report& r) { return value_of(joined_ids(r)); }});
  return result;
}

}  // namespace

std::string report_csv(const std::vector<Report>& reports, const Quantities& table) {
  const std::vector<Column> all = columns(table);
  CsvText text;
  for (const Report& report : reports) {
    Report shown = report;
    shown.prediction = as_if_it_fit(std::move(shown.prediction));
    std::vector<ValueMember> record;
    for (const Column& column : all) record.push_back({column.name, column.get(shown)});
    text.add(record);
  }
  return text.text();
}

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
    if (word == "step")
      values
          .add(
              "measured",
              [](const Forecasted& forecast) {
                return measured_lines(forecast.scenario->job, forecast.prediction);
              },
              measured_line_values(), "What the scenario says was measured, beside the forecast.")
          .left_out();
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
