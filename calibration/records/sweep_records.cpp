// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/sweep_records.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

#include "calibration/records/csv_table.hpp"
#include "calibration/records/internal/words.hpp"
#include "models/base/contains.hpp"

namespace foretrain {
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
    const auto& columns = table_.columns;
    return !contains(columns, column) ? "" : word(column);
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

}  // namespace foretrain
