// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planner/evidence/internal/validate_marks.hpp"
#include "planner/evidence/left_out.hpp"
#include "planner/text/format.hpp"
#include "planner/text/json.hpp"

namespace foretrain {
namespace {

using Cells = std::vector<AnswerCell>;

constexpr const char* columns_note =
    "First MAPE and median: with the shipped profiles. Then, with profiles fitted without the "
    "fold: bias, MAPE, median and 90th percentile. Where a fold holds all runs of a framework, "
    "nothing is left to fit its stack on, and the stack is its prior.";
constexpr const char* parts_note =
    "Parts are other machines or models of one source; in these totals they are left out one by "
    "one in place of their whole source.";

const CheckSummary* find(const std::vector<CheckSummary>& lines, const CheckSummary& like) {
  for (const CheckSummary& line : lines)
    if (line.source == like.source && line.group == like.group) return &line;
  return nullptr;
}

/// Name, runs, errors with the profiles fitted on all, and without the source.
Cells row(const CheckSummary* fitted, const CheckSummary& line) {
  Cells cells{source_label(line.source, line.group), std::to_string(line.count),
              fitted != nullptr ? short_percent(fitted->mape) : "",
              fitted != nullptr ? short_percent(fitted->median) : ""};
  add_errors(line, cells);
  return cells;
}

/// One row per line; parts of sources are told apart by the blank in their name.
AnswerTable folds_table(const std::vector<CheckSummary>& lines, const LeftOutValidation& validation,
                        bool only_parts) {
  AnswerTable table{{words_column("fold"), number_column("runs"), number_column("MAPE"),
                     number_column("median")}};
  add_error_columns(table.columns);
  std::string last;
  for (const CheckSummary& line : lines)
    if (!only_parts || line.source == "all" || line.source.find(' ') != std::string::npos)
      add_fold_row(row(find(validation.fitted, line), line), last, table);
  return table;
}

bool has_parts(const LeftOutValidation& validation) {
  return !validation.parts.empty() && validation.parts.size() != validation.folds.size();
}

/// How many of the measurements the bands held though the profiles had not seen their source.
std::string band_note(const LeftOutValidation& validation) {
  double held = 0.0;
  int runs = 0;
  for (const CheckSummary& line : validation.folds) {
    if (line.source == "all") continue;
    held += line.covered * line.count;
    runs += line.count;
  }
  if (runs == 0) return "";
  return fmt::format(" The shipped bands covered {:.0f} % of them.", 100.0 * held / runs);
}

Json left_out_lines(const std::vector<CheckSummary>& lines) {
  Json list = Json::array();
  for (const CheckSummary& line : lines) {
    list.push_back(summary_json(line));
    list.back()["worst"] = line.worst;
    list.back()["worst_id"] = line.worst_id;
  }
  return list;
}

std::string stopped_note(const LeftOut& left_out) {
  if (!left_out.stopped) return "";
  return fmt::format(
      "Stopped after {} of {} folds: totals are of those. The same command goes on from there.",
      left_out.done, left_out.asked);
}

Json axis_json(const LeftOutValidation& axis) {
  Json records = Json::array();
  for (const RecordCheck& check : axis.records)
    records.push_back({{"id", check.id},
                       {"fold", check.source},
                       {"group", check.group},
                       {"measured", check.measured},
                       {"predicted", check.predicted},
                       {"low", check.low},
                       {"high", check.high},
                       {"error", check.error()}});
  return {{"axis", name_of(axis.axis)},
          {"records", std::move(records)},
          {"folds", left_out_lines(axis.folds)},
          {"parts", left_out_lines(axis.parts)},
          {"fitted", left_out_lines(axis.fitted)}};
}

AnswerHead left_out_head(const LeftOut& left_out) {
  AnswerHead head;
  head.subject = "Errors of runs left out of the fit";
  for (const LeftOutValidation& axis : left_out.axes)
    for (const CheckSummary& line : axis.folds) {
      if (line.source != "all" || !line.group.empty() || head.figures.size() == 4) continue;
      head.figures.push_back({told(axis.axis), short_percent(line.median) + " %",
                              "P90 " + short_percent(line.p90) + " %",
                              std::to_string(line.count) + " runs"});
      if (head.figures.size() == 1)
        head.sentence =
            fmt::format("Step times of {} are {} % off in the median, {} % in the mean.",
                        told(axis.axis), short_percent(line.median), short_percent(line.mape));
    }
  head.words =
      head.figures.empty() ? "NOTHING COMPARED" : "MEDIAN ERROR " + head.figures.front().value;
  if (head.sentence.empty()) head.sentence = "No fold was finished.";
  return head;
}

}  // namespace

Answer left_out_answer(const LeftOut& left_out) {
  Answer answer{left_out_head(left_out)};
  for (const LeftOutValidation& axis : left_out.axes) {
    answer.add(
        {std::string("Step time of ") + told(axis.axis) + ", percent",
         {folds_table(axis.folds, axis, false), AnswerLine{columns_note + band_note(axis)}}});
    if (has_parts(axis))
      answer.add(
          {"The same by parts", {folds_table(axis.parts, axis, true), AnswerLine{parts_note}}});
  }
  answer.add("", AnswerLine{stopped_note(left_out)});
  return answer;
}

std::string left_out_json(const LeftOut& left_out) {
  Json axes = Json::array();
  for (const LeftOutValidation& axis : left_out.axes) axes.push_back(axis_json(axis));
  return dump({{"plan", left_out.plan}, {"stopped", left_out.stopped}, {"axes", std::move(axes)}});
}

}  // namespace foretrain
