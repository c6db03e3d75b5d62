// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

using Align = TextTable::Align;

/// Percent in at most four columns.
std::vector<std::string> row_of(const CheckSummary& line) {
  return {std::to_string(line.count),
          std::to_string(line.skipped),
          signed_percent_text(line.bias, std::abs(line.bias) < 0.9995 ? 1 : 0),
          short_percent(line.mape),
          short_percent(line.median),
          short_percent(line.p90),
          short_percent(std::abs(line.worst)),
          fixed_text(line.covered * 100.0, 0),
          alone_label(line)};
}

/// One group of a quantity; the line of all its sources last.
std::string group_table(const Validation& validation, const std::string& quantity,
                        const std::string& group, const std::string& title,
                        const TextStyle& style) {
  TextTable table{{Align::right, Align::right, Align::right, Align::right, Align::right,
                   Align::right, Align::right, Align::right, Align::left}};
  table.add({"count", "skip", "bias", "MAPE", "median", "P90", "worst", "band", "what"});
  int compared = 0;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != quantity || line.group != group || line.count == 0) continue;
    compared += line.count;
    table.add(row_of(line));
  }
  if (compared == 0) return "";
  return "\n" +
         toned(title + ", " + group + ": predicted / measured - 1, percent", Tone::strong, style) +
         "\n" + table.text(style);
}

/// Every group in order of appearance, then why rows were skipped.
std::string tables_of(const Validation& validation, const std::string& quantity,
                      const std::string& title, const TextStyle& style) {
  std::vector<std::string> groups;
  int skipped = 0;
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != quantity) continue;
    const bool total = line.source == "all" && line.group.empty();
    if (total) skipped = line.skipped;
    if (!line.group.empty() && std::find(groups.begin(), groups.end(), line.group) == groups.end())
      groups.push_back(line.group);
  }
  std::string text;
  for (const std::string& group : groups)
    text += group_table(validation, quantity, group, title, style);
  if (skipped == 0) return text;
  return text + "\n" + toned(title + ": not predicted", Tone::strong, style) + "\n" +
         reasons_text(validation, quantity, style);
}

}  // namespace

bool is_alone(const std::string& quantity) {
  return quantity == kernel_quantity || quantity == collective_quantity;
}

std::string alone_label(const CheckSummary& line) {
  if (line.source == "all") return "all";
  std::string item = line.item;
  // The memory of a part does not change how it computes.
  for (const char* const memory : {"-80gb", "-40gb"})
    if (const auto at = item.find(memory); at != std::string::npos) item.erase(at, 5);
  return fmt::format("{}: {}", item, line.source);
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
  return tables_of(validation, kernel_quantity, "Kernels alone", style) +
         tables_of(validation, collective_quantity, "Collectives alone", style);
}

}  // namespace foretrain
