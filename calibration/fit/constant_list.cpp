// SPDX-License-Identifier: Apache-2.0
#include "calibration/fit/constant_list.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <tuple>

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
                       fitted_to});
}

void add_fitted(const FittedConstant& fitted, std::vector<ConstantLine>& lines) {
  const FitConstant& constant = fitted.constant;
  const std::string first = constant.profiles.front().text() + " " + constant.keys.front();
  for (const ProfileRef& profile : constant.profiles)
    for (const std::string& key : constant.keys) {
      const std::string name = profile.text() + " " + key;
      lines.push_back({profile.text(), key, name == first ? "" : first,
                       fitted_text(constant, fitted.prior), constant.from, fitted.evidence.width,
                       fitted.evidence.records, sources_text(fitted.evidence), "steps"});
    }
}

std::string quoted(const std::string& cell) { return '"' + cell + '"'; }

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
  std::string text = "profile,key,as,prior,from,width,records,told_by,fitted_to\n";
  for (const ConstantLine& line : lines)
    text += fmt::format("{},{},{},{},{},{:.3g},{},{},{}\n", line.profile, line.key, line.as,
                        line.prior, quoted(line.from), line.width, line.records,
                        quoted(line.told_by), line.fitted_to);
  return text;
}

std::vector<ConstantLine> read_constants_csv(const std::string& text, const std::string& file,
                                             Diagnostics& diagnostics) {
  const CsvTable table = read_csv(
      text, file,
      {"profile", "key", "as", "prior", "from", "width", "records", "told_by", "fitted_to"},
      diagnostics);
  std::vector<ConstantLine> lines;
  if (!diagnostics.empty()) return lines;
  for (const CsvRow& row : table.rows) {
    const auto cell = [&](const char* column) { return table.cell(row, column); };
    std::optional<double> width;
    std::optional<double> records;
    if (!read_number(cell("width"), width) || !read_number(cell("records"), records) || !width ||
        !records) {
      diagnostics.add({std::make_shared<const std::string>(file), row.line, 1}, "",
                      "width and records have to be numbers");
      continue;
    }
    lines.push_back({cell("profile"), cell("key"), cell("as"), cell("prior"), cell("from"), *width,
                     static_cast<int>(*records), cell("told_by"), cell("fitted_to")});
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
