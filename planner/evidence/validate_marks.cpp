// SPDX-License-Identifier: Apache-2.0
#include "planner/evidence/internal/validate_marks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "models/base/require.hpp"
#include "planner/text/format.hpp"

namespace foretrain {

const GroupLook& look_of_group(const std::string& group) {
  const auto found =
      std::ranges::find_if(group_looks, [&](const GroupLook& look) { return look.group == group; });
  return found == group_looks.end() ? group_looks.back() : *found;
}

std::vector<const RecordCheck*> compared_steps(const Validation& validation) {
  std::vector<const RecordCheck*> checks;
  for (const RecordCheck& check : validation.records) {
    if (check.skipped || check.quantity != step_quantity) continue;
    FORETRAIN_REQUIRE(check.predicted > 0.0 && std::isfinite(check.predicted));
    FORETRAIN_REQUIRE(check.measured > 0.0 && std::isfinite(check.measured));
    checks.push_back(&check);
  }
  return checks;
}

void add_record(Scene& scene, const RecordCheck& check, const SceneDot& dot) {
  const NumberUnits& units = scene.space.units;
  scene.add(dot);
  const double reach = dot.radius + 1.0;
  scene.marks.push_back(
      {{dot.at.x - reach, dot.at.y - reach, 2.0 * reach, 2.0 * reach},
       check.id,
       {"measured\t" + seconds_text(Seconds{check.measured}, units),
        "predicted\t" + seconds_text(Seconds{check.predicted}, units),
        "error\t" + signed_percent_text(check.error(), 1) + " %", "source\t" + check.source,
        "group\t" + (check.group.empty() ? "other" : check.group)}});
}

std::string percent_figure(double share, int decimals) {
  return fixed_text(share * 100.0, decimals);
}

std::string short_percent(double share) {
  return percent_figure(share, std::abs(share) < 0.9995 ? 1 : 0);
}

std::string signed_percent_text(double share, int decimals) {
  const std::string number = percent_figure(share, decimals);
  return (number.starts_with('-') ? "" : "+") + number;
}

std::string source_label(const std::string& source, const std::string& group) {
  if (source == "all" && !group.empty()) return "all " + group;
  if (group.empty() || group == dense_half_group) return source;
  return source + (group == dense_fp8_group ? " fp8" : " " + group);
}

std::string short_signed_percent(double share) {
  return signed_percent_text(share, std::abs(share) < 0.9995 ? 1 : 0);
}

void add_fold_row(std::vector<AnswerCell> cells, std::string& last, AnswerTable& table) {
  std::string& name = cells.front().text;
  const std::size_t on = name.find(" on ");
  if (on == std::string::npos) return table.add(std::move(cells));
  const std::string stack = name.substr(0, on);
  if (stack != last) {
    std::vector<AnswerCell> head(cells.size(), "");
    head.front() = stack;
    table.add(std::move(head));
  }
  last = stack;
  name = "  " + name.substr(on + 1);
  table.add(std::move(cells));
}

void add_error_columns(std::vector<AnswerColumn>& columns) {
  for (const char* const head : {"bias", "MAPE", "median", "P90"})
    columns.push_back(number_column(head));
}

void add_errors(const CheckSummary& line, std::vector<AnswerCell>& cells) {
  cells.emplace_back(short_signed_percent(line.bias));
  for (const double size : {line.mape, line.median, line.p90})
    cells.emplace_back(short_percent(size));
}

AnswerLine skipped_line(const Validation& validation) {
  const auto skipped = std::ranges::count_if(
      validation.records, [](const RecordCheck& check) { return check.skipped; });
  if (skipped == 0) return {};
  return {fmt::format("{} of {} figures are skipped; --skipped says why.", skipped,
                      validation.records.size())};
}

const CheckSummary* total_of(const Validation& validation, const std::string& quantity) {
  for (const CheckSummary& line : validation.summary)
    if (line.source == "all" && line.group.empty() && line.quantity == quantity) return &line;
  return nullptr;
}

Json summary_json(const CheckSummary& line) {
  return {{"source", line.source}, {"group", line.group.empty() ? Json(nullptr) : Json(line.group)},
          {"count", line.count},   {"bias", line.bias},
          {"mape", line.mape},     {"median", line.median},
          {"p90", line.p90},       {"in_band", line.covered}};
}

}  // namespace foretrain
