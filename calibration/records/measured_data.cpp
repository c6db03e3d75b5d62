// SPDX-License-Identifier: Apache-2.0

#include "calibration/records/measured_data.hpp"

#include <fmt/format.h>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "calibration/records/csv_table.hpp"
#include "calibration/records/internal/words.hpp"
#include "models/base/ranges.hpp"
#include "scenarios/catalog/catalog_files.hpp"
#include "scenarios/yaml/text_file.hpp"

namespace foretrain {

FieldValues read_measured_data(const std::string& name, const FieldTable& table,
                               Diagnostics& diagnostics) {
  const std::filesystem::path below = std::filesystem::path("calibration/measured") / name;
  const auto roots = catalog_roots({}, diagnostics);
  diagnostics.throw_if_any();
  const YamlLimits limits;
  const auto text =
      read_text_file(roots.front() / below, below.generic_string(), limits.file_bytes, diagnostics);
  const auto root = text ? parse_yaml(*text, below.generic_string(), limits, diagnostics)
                         : std::optional<YamlNode>{};
  diagnostics.throw_if_any();
  FieldValues values = read_fields(*root, table, diagnostics);
  diagnostics.throw_if_any();
  return values;
}

namespace {

constexpr double most_ranks = 1e6;

/// Reads the cells of one row and reports what is no number.
class RowReader {
 public:
  RowReader(const CsvTable& table, const CsvRow& row, const std::string& file,
            Diagnostics& diagnostics)
      : table_{table}, row_{row}, file_{file}, diagnostics_{diagnostics} {}

  [[nodiscard]] std::string word(std::string_view column) const {
    return table_.cell(row_, column);
  }
  /// Of a column that a table may lack.
  [[nodiscard]] std::string word_or_empty(std::string_view column) const {
    const auto& there = table_.columns;
    return !contains(there, column) ? "" : word(column);
  }

  std::optional<double> number(std::string_view column, bool required, double most = INFINITY) {
    const std::string& cell = table_.cell(row_, column);
    std::optional<double> value;
    const bool fine = read_number(cell, value) && (value || !required) &&
                      (!value || (*value >= (required ? 1.0 : 0.0) && *value <= most));
    if (fine) return value;
    legal_ = false;
    diagnostics_.add(Diagnostic{file_, row_.line, 1, "",
                                std::string(column) + ": " + in_quotes(cell) + " is not " +
                                    (required ? "a count" : "a number from 0 or null")});
    return std::nullopt;
  }

  int count(std::string_view column) {
    return static_cast<int>(number(column, true, most_ranks).value_or(0.0));
  }

  [[nodiscard]] bool legal() const { return legal_; }

 private:
  const CsvTable& table_;
  const CsvRow& row_;
  const std::string& file_;
  Diagnostics& diagnostics_;
  bool legal_ = true;
};

}  // namespace

std::string SweepRecord::id() const {
  return fmt::format("{}-{:.0f}{}", sweep, size_bytes, in_place ? "-in" : "");
}

std::string SweepRecord::family() const { return family_of(source); }

std::vector<SweepRecord> read_sweep_records(const std::string& text, const std::string& file,
                                            Diagnostics& diagnostics) {
  const CsvTable table = read_csv(text, file,
                                  {"id", "source", "collective", "gpu", "nodes", "gpus_per_node",
                                   "network", "size_bytes", "time_us", "busbw_gbs", "inplace"},
                                  diagnostics);
  std::vector<SweepRecord> records;
  for (const CsvRow& row : table.rows) {
    RowReader reader(table, row, file, diagnostics);
    SweepRecord record;
    record.sweep = reader.word("id");
    record.source = reader.word("source");
    record.collective = reader.word("collective");
    record.gpu = reader.word("gpu");
    record.network = reader.word("network");
    record.nodes = reader.count("nodes");
    record.gpus_per_node = reader.count("gpus_per_node");
    record.size_bytes = reader.number("size_bytes", true).value_or(0.0);
    record.time_us = reader.number("time_us", false);
    record.busbw_gbs = reader.number("busbw_gbs", false);
    record.in_place = reader.word("inplace") == "1";
    record.host = reader.word_or_empty("host");
    record.fabric = reader.word_or_empty("fabric");
    record.note = reader.word_or_empty("note");
    if (reader.legal()) records.push_back(std::move(record));
  }
  return records;
}

namespace {

struct NumberColumn {
  std::string_view name;
  std::optional<double> KernelRecord::*member;
};
constexpr std::array<NumberColumn, 5> numbers{{{"m", &KernelRecord::m},
                                               {"n", &KernelRecord::n},
                                               {"tflops", &KernelRecord::tflops},
                                               {"gbs", &KernelRecord::gbs},
                                               {"time_us", &KernelRecord::time_us}}};

}  // namespace

std::string KernelRecord::family() const { return family_of(source); }

std::vector<KernelRecord> read_kernel_records(const std::string& text, const std::string& file,
                                              Diagnostics& diagnostics) {
  const CsvTable table = read_csv(text, file,
                                  {"id", "source", "op", "gpu", "dtype", "m", "n", "k_or_shape",
                                   "tflops", "gbs", "time_us", "note"},
                                  diagnostics);
  std::vector<KernelRecord> records;
  for (const CsvRow& row : table.rows) {
    const auto word = [&](std::string_view column) { return table.cell(row, column); };
    KernelRecord record;
    record.id = "kernel-" + word("id");
    record.source = word("source");
    record.op = word("op");
    record.gpu = word("gpu");
    record.dtype = word("dtype");
    record.shape = word("k_or_shape");
    record.note = word("note");
    bool legal = true;
    for (const NumberColumn& column : numbers) {
      const std::string& cell = table.cell(row, column.name);
      std::optional<double>& value = record.*(column.member);
      if (read_number(cell, value) && (!value || *value > 0.0)) continue;
      legal = false;
      diagnostics.add(Diagnostic{
          file, row.line, 1, "",
          std::string(column.name) + ": " + in_quotes(cell) + " is not a positive number or null"});
    }
    if (legal) records.push_back(std::move(record));
  }
  return records;
}

}  // namespace foretrain
