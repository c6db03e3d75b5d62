// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace foretrain
