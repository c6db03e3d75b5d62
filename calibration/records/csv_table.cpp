// SPDX-License-Identifier: Apache-2.0
#include "calibration/records/csv_table.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "models/base/contains.hpp"
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

}  // namespace foretrain
