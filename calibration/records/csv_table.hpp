// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "calibration/records/run_record.hpp"
#include "scenarios/yaml/diagnostics.hpp"

namespace foretrain {

/// A line of a table of comma-separated values.
struct CsvRow {
  int line = 0;                    ///< of the file, from 1
  std::vector<std::string> cells;  ///< as many as the table has columns
};

struct CsvTable {
  std::vector<std::string> columns;
  std::vector<CsvRow> rows;

  /// @pre the table has that column (read_csv checks those asked for)
  [[nodiscard]] const std::string& cell(const CsvRow& row, std::string_view column) const;
};

/// Reads a table with a header line; cells may be in double quotes, a doubled quote inside them is
/// one. Missing columns and lines of another width become diagnostics under the name `file`.
[[nodiscard]] CsvTable read_csv(std::string_view text, const std::string& file,
                                const std::vector<std::string>& required, Diagnostics& diagnostics);

/// A number, or nothing for an empty cell and for "null".
/// @return false where the cell holds anything else or is not finite
[[nodiscard]] bool read_number(const std::string& cell, std::optional<double>& value);

/// Reads a table in the format of calibration/measured/vtrain_single.csv or vtrain_multi.csv
/// (VIA-Research/vTrain): one GPT iteration per line. The two differ by the column "Parameters
/// (billion)", which only the table of several nodes has. What no column says is as
/// calibration/measured/README.md states or infers: fp16, A100 80 GB, eight GPUs and 800 Gbit/s per
/// node, 1F1B, gradients reduced after the last pass.
/// Ids are "vtrain_single-LINE" or "vtrain_multi-LINE". Every malformed line becomes a diagnostic.
[[nodiscard]] std::vector<RunRecord> read_vtrain_records(const std::string& text,
                                                         const std::string& name,
                                                         Diagnostics& diagnostics);

}  // namespace foretrain
