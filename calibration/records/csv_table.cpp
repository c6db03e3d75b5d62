// SPDX-License-Identifier: Apache-2.0

#include "calibration/records/csv_table.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include "calibration/records/run_source.hpp"
#include "models/base/ranges.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

/// One line into cells; false when a quote stays open.
bool split(std::string_view line, std::vector<std::string>& cells) {
  cells.assign(1, "");
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"' && quoted && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += c;
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  return !quoted;
}

std::vector<std::string> missing_of(const std::vector<std::string>& required,
                                    const std::vector<std::string>& columns) {
  std::vector<std::string> missing;
  for (const std::string& column : required)
    if (!contains(columns, column)) missing.push_back(column);
  return missing;
}

}  // namespace

const std::string& CsvTable::cell(const CsvRow& row, std::string_view column) const {
  const auto found = std::ranges::find(columns, column);
  FORETRAIN_REQUIRE(found != columns.end());
  return row.cells[static_cast<std::size_t>(found - columns.begin())];
}

CsvTable read_csv(std::string_view text, const std::string& file,
                  const std::vector<std::string>& required, Diagnostics& diagnostics) {
  CsvTable table;
  const auto report = [&](int line, std::string message) {
    diagnostics.add(Diagnostic{file, line, line > 0 ? 1 : 0, "", std::move(message)});
  };
  std::vector<std::string> cells;
  for (int line = 1; !text.empty(); ++line) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (content.ends_with('\r')) content.remove_suffix(1);
    if (content.empty()) continue;
    if (!split(content, cells)) {
      report(line, "a quote is not closed");
    } else if (table.columns.empty()) {
      table.columns = cells;
      const std::vector<std::string> missing = missing_of(required, cells);
      if (missing.empty()) continue;
      report(line, "columns are missing: " + joined(missing));
      return table;
    } else if (cells.size() != table.columns.size()) {
      report(line, std::to_string(cells.size()) + " fields, but the header has " +
                       std::to_string(table.columns.size()));
    } else {
      table.rows.push_back({line, cells});
    }
  }
  if (table.columns.empty()) report(0, "the file is empty");
  return table;
}

bool read_number(const std::string& cell, std::optional<double>& value) {
  value.reset();
  if (cell.empty() || cell == "null") return true;
  double number = 0.0;
  const char* const end = cell.data() + cell.size();
  const auto [rest, failure] = std::from_chars(cell.data(), end, number);
  if (failure != std::errc() || rest != end || !std::isfinite(number)) return false;
  value = number;
  return true;
}

namespace {

constexpr std::string_view time_column = "iteration time (ms)";
constexpr std::string_view parameters_column = "Parameters (billion)";

std::vector<std::string_view> fields_of(std::string_view line) {
  std::vector<std::string_view> fields;
  for (std::size_t start = 0;;) {
    const std::size_t comma = line.find(',', start);
    fields.push_back(line.substr(start, comma - start));
    if (comma == std::string_view::npos) return fields;
    start = comma + 1;
  }
}

template <class Number>
bool parse(std::string_view text, Number& value) {
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && rest == text.data() + text.size();
}

/// Every column but the time and the parameter count is a whole number of these members.
struct Column {
  std::string_view name;
  std::optional<int> RunRecord::*member;
};
constexpr auto columns = std::to_array<Column>({{"# GPUs", &RunRecord::gpus},
                                                {"global batch", &RunRecord::global_batch},
                                                {"micro batch", &RunRecord::micro_batch},
                                                {"hidden size", &RunRecord::hidden},
                                                {"attention heads", &RunRecord::heads},
                                                {"# layers", &RunRecord::layers},
                                                {"sequence length", &RunRecord::sequence},
                                                {"tensor parallelism", &RunRecord::tensor},
                                                {"data parallelism", &RunRecord::data},
                                                {"pipeline parallelism", &RunRecord::pipeline}});

/// What all rows of a table share.
RunRecord common_record(bool several_nodes) {
  RunRecord record;
  record.source = "VIA-Research/vTrain data/ground_truth (arXiv 2312.12391)";
  record.confidence = "A";
  record.gpus_per_node = 8;
  record.network = "800 Gb/s per node";
  record.precision = "fp16";
  record.vocabulary = 51200;
  record.gated_mlp = false;
  record.tied_embeddings = true;
  record.zero = "0";
  if (several_nodes) {
    record.recompute = "full";
    return record;
  }
  // With recomputation, matrix multiplications of these rows would have to run above their measured
  // maximum; the table of several nodes agrees with SC21's times, which include it.
  record.recompute = "none";
  record.assumptions.emplace_back(
      "no recomputation, against the peer's configuration file: the times leave no room for it");
  return record;
}

class Reader {
 public:
  Reader(std::string name, Diagnostics& diagnostics)
      : name_{std::move(name)}, diagnostics_{diagnostics} {}

  std::vector<RunRecord> read(std::string_view text) {
    std::vector<RunRecord> records;
    for (int number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      std::string_view line = text.substr(0, end);
      text.remove_prefix(std::min(end + 1, text.size()));
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (number == 1) {
        if (!read_header(line)) return records;
      } else if (!line.empty()) {
        read_row(line, number, records);
      }
    }
    if (header_.empty()) report(0, "the file is empty");
    return records;
  }

 private:
  void report(int line, std::string message) {
    diagnostics_.add(Diagnostic{name_, line, line > 0 ? 1 : 0, "", std::move(message)});
  }

  [[nodiscard]] bool has(std::string_view column) const { return contains(header_, column); }

  bool read_header(std::string_view line) {
    for (const std::string_view field : fields_of(line)) header_.emplace_back(field);
    std::string missing;
    const auto require = [&](std::string_view column) {
      if (!has(column)) missing += (missing.empty() ? "" : ", ") + std::string(column);
    };
    for (const Column& column : columns) require(column.name);
    require(time_column);
    if (!missing.empty()) report(1, "columns are missing: " + missing);
    return missing.empty();
  }

  void read_row(std::string_view line, int number, std::vector<RunRecord>& records) {
    const std::vector<std::string_view> fields = fields_of(line);
    if (fields.size() != header_.size())
      return report(number, std::to_string(fields.size()) + " fields, but the header has " +
                                std::to_string(header_.size()));
    const bool several_nodes = has(parameters_column);
    RunRecord record = common_record(several_nodes);
    record.id = (several_nodes ? "vtrain_multi-" : "vtrain_single-") + std::to_string(number);
    record.gpu = run_source(record).gpu;
    bool legal = true;
    for (std::size_t i = 0; i < fields.size(); ++i)
      legal = read_field(header_[i], fields[i], number, record) && legal;
    if (!legal) return;
    record.kv_heads = record.heads;
    record.ffn_hidden = 4 * *record.hidden;
    records.push_back(std::move(record));
  }

  bool read_field(std::string_view column, std::string_view text, int number, RunRecord& record) {
    const auto known =
        std::ranges::find_if(columns, [&](const Column& entry) { return entry.name == column; });
    double milliseconds = 0.0;
    int count = 0;
    if (column == time_column && parse(text, milliseconds) && std::isfinite(milliseconds) &&
        milliseconds > 0.0) {
      record.iteration_s = milliseconds / 1000.0;
      return true;
    }
    // Bounded so that the width of the MLP, four times this, is an int.
    if (known != columns.end() && parse(text, count) && count > 0 && count <= 100'000'000) {
      record.*(known->member) = count;
      return true;
    }
    if (known == columns.end() && column != time_column) return true;
    report(number, std::string(column) + ": " + in_quotes(text) + " is not a " +
                       (column == time_column ? "positive number" : "positive whole number"));
    return false;
  }

  std::string name_;
  Diagnostics& diagnostics_;
  std::vector<std::string> header_;
};

}  // namespace

std::vector<RunRecord> read_vtrain_records(const std::string& text, const std::string& name,
                                           Diagnostics& diagnostics) {
  return Reader(name, diagnostics).read(text);
}

}  // namespace foretrain
