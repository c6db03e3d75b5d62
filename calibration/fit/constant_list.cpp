// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/constant_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "calibration/records/csv_table.hpp"
#include "models/base/require.hpp"

namespace foretrain {
namespace {

constexpr const char* order_of_magnitude = "its order of magnitude, for benchmarks to tell";

/// "mbridge 61; simumax 25": those that make up nine tenths, three at most.
std::string sources_text(const ConstantEvidence& evidence) {
  constexpr std::size_t most = 3;
  constexpr double enough = 0.9;
  std::string text;
  double sum = 0.0;
  for (std::size_t i = 0; i < std::min(most, evidence.sources.size()) && sum < enough; ++i) {
    const auto& [source, share] = evidence.sources[i];
    sum += share;
    text += (text.empty() ? "" : "; ") + fmt::format("{} {:.0f}", source, 100.0 * share);
  }
  return text;
}

/// The prior in the unit that the value is written with.
std::string prior_text(const FittedValue& value) {
  const std::size_t blank = value.text.find(' ');
  const double number = std::strtod(value.text.c_str(), nullptr);
  FORETRAIN_REQUIRE(number > 0.0);
  return fmt::format("{:.4g}", value.evidence.prior / value.value * number) +
         (blank == std::string::npos ? "" : value.text.substr(blank));
}

void add_values(const std::vector<FittedValue>& values, const char* fitted_to,
                std::vector<ConstantLine>& lines) {
  for (const FittedValue& value : values)
    if (value.deviation > 0.0)
      lines.push_back({value.profile, value.key, value.as, prior_text(value), order_of_magnitude,
                       value.evidence.width, value.evidence.records, sources_text(value.evidence),
                       fitted_to, value.evidence.reach, value.evidence.record,
                       value.evidence.kept_out});
}

void add_fitted(const FittedConstant& fitted, std::vector<ConstantLine>& lines) {
  const FitConstant& constant = fitted.constant;
  const std::string first = constant.profiles.front().text() + " " + constant.keys.front();
  for (const ProfileRef& profile : constant.profiles)
    for (const std::string& key : constant.keys) {
      const std::string name = profile.text() + " " + key;
      lines.push_back({profile.text(), key, name == first ? "" : first,
                       fitted_text(constant, fitted.prior), constant.from, fitted.evidence.width,
                       fitted.evidence.records, sources_text(fitted.evidence), "steps",
                       fitted.evidence.reach, fitted.evidence.record, fitted.evidence.kept_out});
    }
}

std::string quoted_cell(const std::string& cell) { return '"' + cell + '"'; }

constexpr std::string_view between_names = "; ";

std::string names_cell(const std::vector<std::string>& names) {
  return quoted_cell(fmt::format("{}", fmt::join(names, between_names)));
}

std::vector<std::string> names_of(std::string_view cell) {
  std::vector<std::string> names;
  while (!cell.empty()) {
    const std::size_t end = std::min(cell.find(between_names), cell.size());
    names.emplace_back(cell.substr(0, end));
    cell.remove_prefix(std::min(end + between_names.size(), cell.size()));
  }
  return names;
}

/// "8-1024"; empty: nothing.
std::string span_cell(const std::optional<int>& least, const std::optional<int>& most) {
  return least ? fmt::format("{}-{}", *least, *most) : "";
}

/// @return false where the cell is neither empty nor a span
bool read_span(const std::string& cell, std::optional<int>& least, std::optional<int>& most) {
  if (cell.empty()) return true;
  std::optional<double> from;
  std::optional<double> to;
  const std::size_t dash = cell.find('-');
  if (dash == std::string::npos || !read_number(cell.substr(0, dash), from) ||
      !read_number(cell.substr(dash + 1), to) || !from || !to || *from > *to)
    return false;
  least = static_cast<int>(*from);
  most = static_cast<int>(*to);
  return true;
}

const std::vector<std::string>& csv_columns() {
  static const std::vector<std::string> columns{
      "profile",   "key",     "as",   "prior", "from",   "width",  "records", "told_by",
      "fitted_to", "devices", "gpus", "years", "stacks", "record", "kept_out"};
  return columns;
}

/// What of a line is more than words. @return false where a cell cannot be read
bool read_figures(const CsvTable& table, const CsvRow& row, ConstantLine& line) {
  std::optional<double> width;
  std::optional<double> records;
  if (!read_number(table.cell(row, "width"), width) ||
      !read_number(table.cell(row, "records"), records) || !width || !records)
    return false;
  line.width = *width;
  line.records = static_cast<int>(*records);
  ConstantReach& reach = line.reach;
  reach.devices = names_of(table.cell(row, "devices"));
  reach.stacks = names_of(table.cell(row, "stacks"));
  return read_span(table.cell(row, "gpus"), reach.least_gpus, reach.most_gpus) &&
         read_span(table.cell(row, "years"), reach.first_year, reach.last_year);
}

}  // namespace

std::vector<ConstantLine> constant_lines(const KernelFit& kernels, const CollectiveFit& collectives,
                                         const ProfileFit& steps) {
  std::vector<ConstantLine> lines;
  add_values(kernels.values, "kernels", lines);
  add_values(collectives.values, "collectives", lines);
  for (const FittedConstant& fitted : steps.constants) add_fitted(fitted, lines);
  return lines;
}

std::string constants_csv(const std::vector<ConstantLine>& lines) {
  std::string text = fmt::format("{}\n", fmt::join(csv_columns(), ","));
  for (const ConstantLine& line : lines) {
    const ConstantReach& reach = line.reach;
    text += fmt::format("{},{},{},{},{},{:.3g},{},{},{},", line.profile, line.key, line.as,
                        line.prior, quoted_cell(line.from), line.width, line.records,
                        quoted_cell(line.told_by), line.fitted_to);
    text += fmt::format("{},{},{},{},{},{}\n", names_cell(reach.devices),
                        span_cell(reach.least_gpus, reach.most_gpus),
                        span_cell(reach.first_year, reach.last_year), names_cell(reach.stacks),
                        quoted_cell(line.record), quoted_cell(line.kept_out));
  }
  return text;
}

std::vector<ConstantLine> read_constants_csv(const std::string& text, const std::string& file,
                                             Diagnostics& diagnostics) {
  const CsvTable table = read_csv(text, file, csv_columns(), diagnostics);
  std::vector<ConstantLine> lines;
  if (!diagnostics.empty()) return lines;
  for (const CsvRow& row : table.rows) {
    const auto cell = [&](const char* column) { return table.cell(row, column); };
    ConstantLine line{cell("profile"), cell("key"), cell("as"), cell("prior"), cell("from")};
    line.told_by = cell("told_by");
    line.fitted_to = cell("fitted_to");
    line.record = cell("record");
    line.kept_out = cell("kept_out");
    if (read_figures(table, row, line))
      lines.push_back(std::move(line));
    else
      diagnostics.add({std::make_shared<const std::string>(file), row.line, 1}, "",
                      "width and records have to be numbers, gpus and years spans as 8-64");
  }
  return lines;
}

bool same_constants(const std::vector<ConstantLine>& one, const std::vector<ConstantLine>& other) {
  constexpr double some = 2.0;  // records, and a tenth of them: spans of slopes follow deviations
  constexpr double share = 0.1;
  const auto said = [](const ConstantLine& line) {
    return std::tie(line.profile, line.key, line.as, line.from, line.fitted_to);
  };
  return std::equal(one.begin(), one.end(), other.begin(), other.end(),
                    [&](const ConstantLine& a, const ConstantLine& b) {
                      const int most = std::max(a.records, b.records);
                      return said(a) == said(b) && std::abs(a.width - b.width) < 0.01 &&
                             std::abs(a.records - b.records) <= some + share * most;
                    });
}

}  // namespace foretrain
