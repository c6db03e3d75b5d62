// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_csv.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <string_view>
#include <utility>

#include "planner/text/json.hpp"

namespace foretrain {
namespace {

struct Column {
  std::string name;
  std::function<std::string(const Report&)> text;
};

std::string plain_text(const QuantityValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  const double* number = std::get_if<double>(&value);
  return number == nullptr ? "" : number_or_null(*number).dump();
}

Column job_column(std::string name, std::function<std::string(const Job&)> text) {
  return {std::move(name),
          [text = std::move(text)](const Report& r) { return text(r.scenario.job); }};
}

/// A column that is a path of the JSON, dots replaced by underscores.
Column quantity_column(const ForecastQuantity& row) {
  std::string name = row.path;
  std::ranges::replace(name, '.', '_');
  return {name, [&row](const Report& report) { return plain_text(row.get(report.prediction, 0)); }};
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
    columns.push_back(job_column(std::move(name), text));
  };
  add("name", [](const Job& j) { return j.name; });
  add("model", [](const Job& j) { return j.model.name; });
  add("device", [](const Job& j) { return j.cluster.host.device.name; });
  add("host", [](const Job& j) { return j.cluster.host.name; });
  add("network", [](const Job& j) { return j.cluster.network.preset; });
  add("gpus", [](const Job& j) { return std::to_string(j.cluster.gpus()); });
  add("tensor", [](const Job& j) { return std::to_string(j.parallel.tensor); });
  add("sequence_parallel", [](const Job& j) { return j.parallel.sequence ? "true" : "false"; });
  add("context", [](const Job& j) { return std::to_string(j.parallel.context); });
  add("pipeline", [](const Job& j) { return std::to_string(j.parallel.pipeline); });
  add("virtual_stages", [](const Job& j) { return std::to_string(j.parallel.virtual_stages); });
  add("schedule", [](const Job& j) { return std::string(name_of(j.parallel.schedule)); });
  add("expert", [](const Job& j) { return std::to_string(j.parallel.expert); });
  add("data", [](const Job& j) { return std::to_string(j.parallel.data); });
  add("zero", [](const Job& j) { return std::to_string(j.parallel.zero); });
  add("sequence_tokens", [](const Job& j) { return std::to_string(j.training.sequence); });
  add("micro_batch", [](const Job& j) { return std::to_string(j.training.micro_batch); });
  add("global_batch", [](const Job& j) { return std::to_string(j.training.global_batch); });
  add("precision", [](const Job& j) { return std::string(name_of(j.training.precision)); });
  add("recompute", [](const Job& j) { return std::string(name_of(j.memory.recompute.kind)); });
  add("stack", [](const Job& j) { return j.stack.name; });
  add("site", [](const Job& j) { return j.site.name; });
}

std::vector<Column> columns(const Quantities& table) {
  std::vector<Column> result;
  add_job_columns(result);
  for (const ForecastQuantity& row : table.rows()) {
    if (row.path == "memory.capacity_bytes")
      result.push_back({"reasons", [](const Report& r) { return joined_rules(r); }});
    if (!row.in_list() && row.path != "schema" && !row.path.starts_with("provenance."))
      result.push_back(quantity_column(row));
  }
  result.push_back({"warnings", [](const Report& r) { return joined_ids(r); }});
  return result;
}

/// Spreadsheets compute what starts like this, links and commands included; a number is a number.
bool is_formula(const std::string& text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos)
    return false;
  const char* begin = text.data() + (text.front() == '+' ? 1 : 0);
  const char* end = text.data() + text.size();
  double number = 0.0;
  const auto [stopped, error] = std::from_chars(begin, end, number);
  return error != std::errc{} || stopped != end;
}

}  // namespace

std::string csv_field(const std::string& cell) {
  std::string text = is_formula(cell) ? "'" + cell : cell;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') result += '"';
    result += c;
  }
  return result + '"';
}

std::string report_csv(const std::vector<Report>& reports, const Quantities& table) {
  const std::vector<Column> all = columns(table);
  std::string result;
  for (const Column& column : all) result += (result.empty() ? "" : ",") + csv_field(column.name);
  result += "\r\n";
  for (const Report& report : reports) {
    Report shown = report;
    shown.prediction = as_if_it_fit(std::move(shown.prediction));
    std::string row;
    for (std::size_t c = 0; c < all.size(); ++c)
      row += (c == 0 ? "" : ",") + csv_field(all[c].text(shown));
    result += row + "\r\n";
  }
  return result;
}

}  // namespace foretrain
