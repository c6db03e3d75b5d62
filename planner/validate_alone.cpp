// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/format.hpp"
#include "planner/internal/validate_alone.hpp"
#include "planner/internal/validate_marks.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

/// Percent in at most four columns.
std::string percent(double share) {
  return fixed_text(share * 100.0, std::abs(share) < 0.9995 ? 1 : 0);
}

std::vector<std::string> row_of(const CheckSummary& line) {
  return {std::to_string(line.count),
          std::to_string(line.skipped),
          signed_percent_text(line.bias, std::abs(line.bias) < 0.9995 ? 1 : 0),
          percent(line.mape),
          percent(line.median),
          percent(line.p90),
          percent(std::abs(line.worst)),
          fixed_text(line.covered * 100.0, 0),
          alone_label(line)};
}

std::string table_of(const Validation& validation, const std::string& quantity,
                     const std::string& title, const TextStyle& style) {
  TextTable table{{Align::right, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right, Align::left}};
  table.add({"count", "skip", "bias", "MAPE", "median", "P90", "worst", "band", "what"});
  int skipped = 0;
  int compared = 0;
  bool any = false;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != quantity) continue;
    any = true;
    if (line.source == "all" && line.group.empty()) skipped = line.skipped;
    compared += line.count;
    if (line.count > 0) table.add(row_of(line));
  }
  if (!any) return "";
  std::string text;
  if (compared > 0)
    text = "\n" + toned(title + ": predicted / measured - 1, percent", Tone::strong, style) + "\n" +
           table.text(style);
  if (skipped == 0) return text;
  return text + "\n" + toned(title + ": not predicted", Tone::strong, style) + "\n" +
         reasons_text(validation, quantity, style);
}

}  // namespace

bool is_alone(const std::string& quantity) {
  return quantity == kernel_quantity || quantity == collective_quantity;
}

std::string alone_label(const CheckSummary& line) {
  if (line.source == "all") return line.group.empty() ? "all" : "all " + line.group;
  return fmt::format("{}: {}, {}", line.group, line.source, line.item);
}

std::string reasons_text(const Validation& validation, const std::string& quantity,
                         const TextStyle& style) {
  constexpr std::size_t shown = 8;
  std::map<std::string, int> counts;
  for (const RecordCheck& check : validation.records)
    if (check.skipped && check.quantity == quantity) ++counts[check.why];
  std::vector<std::pair<int, std::string>> reasons;
  reasons.reserve(counts.size());
  for (const auto& [why, count] : counts) reasons.emplace_back(-count, why);
  std::sort(reasons.begin(), reasons.end());
  std::string text;
  int others = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i < shown)
      text += hanging(fmt::format("  {:4}  ", -reasons[i].first), reasons[i].second, style);
    else
      others -= reasons[i].first;
  }
  if (others > 0) text += hanging(fmt::format("  {:4}  ", others), "for other reasons", style);
  return text;
}

std::string alone_tables(const Validation& validation, const TextStyle& style) {
  return table_of(validation, kernel_quantity, "Kernels alone", style) +
         table_of(validation, collective_quantity, "Collectives alone", style);
}

}  // namespace foretrain
