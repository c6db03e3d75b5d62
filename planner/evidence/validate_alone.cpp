// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "models/base/contains.hpp"
#include "planner/evidence/internal/validate_alone.hpp"
#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/text/format.hpp"

namespace foretrain {
namespace {

/// One group of a quantity; the line of all its sources last.
AnswerTable group_table(const Validation& validation, const std::string& quantity,
                        const std::string& group) {
  AnswerTable table{{number_column("count"), number_column("skip")}};
  add_error_columns(table.columns);
  for (const char* const head : {"worst", "band"}) table.columns.push_back(number_column(head));
  table.columns.push_back(words_column("what"));
  for (const CheckSummary& line : validation.summary) {
    if (line.quantity != quantity || line.group != group || line.count == 0) continue;
    std::vector<AnswerCell> cells{std::to_string(line.count), std::to_string(line.skipped)};
    add_errors(line, cells);
    cells.emplace_back(short_percent(std::abs(line.worst)));
    cells.emplace_back(fixed_text(line.covered * 100.0, 0));
    cells.emplace_back(alone_label(line));
    table.add(std::move(cells));
  }
  return table;
}

/// Every group in order of appearance, then why rows were skipped.
void add_groups(const Validation& validation, const std::string& quantity, const std::string& title,
                Answer& answer) {
  std::vector<std::string> groups;
  for (const CheckSummary& line : validation.summary)
    if (line.quantity == quantity && !line.group.empty() && !contains(groups, line.group))
      groups.push_back(line.group);
  for (const std::string& group : groups)
    answer.add(title + ", " + group + ": predicted / measured - 1, percent",
               group_table(validation, quantity, group));
  answer.add(title + ": not predicted", reasons_table(validation, quantity));
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

AnswerTable reasons_table(const Validation& validation, const std::string& quantity) {
  constexpr std::size_t shown = 8;
  std::map<std::string, int> counts;
  for (const RecordCheck& check : validation.records)
    if (check.skipped && check.quantity == quantity) ++counts[check.why];
  std::vector<std::pair<int, std::string>> reasons;
  reasons.reserve(counts.size());
  for (const auto& [why, count] : counts) reasons.emplace_back(-count, why);
  std::ranges::sort(reasons);
  AnswerTable table{{number_column(), words_column()}};
  int others = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    if (i < shown)
      table.add({std::to_string(-reasons[i].first), reasons[i].second});
    else
      others -= reasons[i].first;
  }
  if (others > 0) table.add({std::to_string(others), "for other reasons"});
  return table;
}

void add_alone(const Validation& validation, Answer& answer) {
  add_groups(validation, kernel_quantity, "Kernels alone", answer);
  add_groups(validation, collective_quantity, "Collectives alone", answer);
}

}  // namespace foretrain
