// SPDX-License-Identifier: Apache-2.0
#include "planner/forecast/report_csv.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "planner/answer/value_csv.hpp"

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

}  // namespace foretrain
